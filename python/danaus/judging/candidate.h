/* A shared library that exports danaus_candidate() can be judged: python -m danaus.judging --library FILE.so.
 *
 * The judge calls it with a case and all of its arrays. Arrays are contiguous, the last extent fastest, on the host or
 * on a CUDA device; complex numbers lie as re and im. Work may be enqueued on the stream. The function returns
 * DANAUS_CANDIDATE_REFUSED for a case that it does not take, and any other number than 0 for an error.
 */
#ifndef DANAUS_CANDIDATE_H
#define DANAUS_CANDIDATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DANAUS_CANDIDATE_DONE = 0, DANAUS_CANDIDATE_REFUSED = 1, DANAUS_CANDIDATE_FAILED = 2 };

typedef struct {
  const char* name; /* u, k, w, a, b, c, dy, bias, pregate, postgate, x_initial; y, du, dk, ... are written */
  void* data;
  const char* dtype; /* f16, bf16, f32, f64 */
  int rank;
  int64_t extents[8];
} danaus_candidate_array;

/* token: the case as one word, fftconv_f32_causal_l1024_b4_h8. stream: a cudaStream_t, NULL on the host. */
int danaus_candidate(const char* token, const danaus_candidate_array* arrays, size_t count, void* stream);

#ifdef __cplusplus
}
#endif

#endif
