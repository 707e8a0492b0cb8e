/* A causal convolution in C for the judge:
 *
 *   cc -O2 -shared -fPIC -I$(python -m danaus.judging --include) conv.c -o conv.so
 *   python -m danaus.judging --library conv.so fftconv_f32_causal
 */
#include <string.h>

#include "candidate.h"

static const danaus_candidate_array* named(const danaus_candidate_array* arrays, size_t count, const char* name) {
  for (size_t i = 0; i < count; ++i)
    if (strcmp(arrays[i].name, name) == 0) return &arrays[i];
  return NULL;
}

int danaus_candidate(const char* token, const danaus_candidate_array* arrays, size_t count, void* stream) {
  (void)stream;
  if (strncmp(token, "fftconv_f32_causal_", 19) != 0 || strstr(token, "gate")) return DANAUS_CANDIDATE_REFUSED;
  const danaus_candidate_array *u = named(arrays, count, "u"), *k = named(arrays, count, "k");
  const danaus_candidate_array* y = named(arrays, count, "y");
  const int64_t channels = u->extents[1], length = u->extents[2], taps = k->extents[1];
  for (int64_t row = 0; row < u->extents[0] * channels; ++row) {
    const float* const x = (const float*)u->data + row * length;
    const float* const filter = (const float*)k->data + row % channels * taps;
    float* const result = (float*)y->data + row * length;
    for (int64_t n = 0; n < length; ++n) {
      double sum = 0;
      for (int64_t tap = 0; tap < taps && tap <= n; ++tap) sum += (double)filter[tap] * x[n - tap];
      result[n] = (float)sum;
    }
  }
  return DANAUS_CANDIDATE_DONE;
}
