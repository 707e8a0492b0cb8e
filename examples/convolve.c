/* Convolves noise with a decaying filter on the first GPU, in C. Without a GPU it says so, and what the case would
 * take. */
#include <danaus.h>
#include <stdio.h>
#include <stdlib.h>

static void check(danaus_status status, const char* what) {
  if (status == DANAUS_OK) return;
  fprintf(stderr, "%s: %s\n", what, danaus_last_error());
  exit(1);
}

int main(void) {
  const char* token = "fftconv_bf16_causal_l1000_b2_h3";
  danaus_array_info info = {.size = sizeof info};
  printf("danaus %s, %s\n", danaus_version(), token);
  for (int i = 0; danaus_case_array(token, i, &info) == DANAUS_OK; ++i)
    printf("  %s %s [%lld, %lld, %lld]\n", info.name, info.dtype, (long long)info.extents[0],
           (long long)info.extents[1], info.rank > 2 ? (long long)info.extents[2] : 1);

  danaus_plan* plan = NULL;
  const danaus_status status = danaus_plan_create(token, 0, NULL, 0, &plan);
  if (status == DANAUS_NO_DEVICE) {
    printf("%s\n", danaus_last_error());
    return 0;
  }
  check(status, "plan");
  printf("%s\n", danaus_plan_description(plan));

  enum { kBatch = 2, kChannels = 3, kLength = 1000, kSamples = kBatch * kChannels * kLength };
  static float k[kChannels * kLength];
  static uint16_t u[kSamples], y[kSamples]; /* bf16: the upper half of a float */
  for (int i = 0; i < kChannels * kLength; ++i) k[i] = i % kLength == 0 ? 1.f : 0.f; /* the identity */
  for (int i = 0; i < kSamples; ++i) u[i] = (uint16_t)(0x3f80 + i % 64);             /* 1 to 1.5 */

  void *device_u, *device_y;
  check(danaus_allocate(0, sizeof u, &device_u), "u");
  check(danaus_allocate(0, sizeof y, &device_y), "y");
  check(danaus_copy_to_device(0, device_u, u, sizeof u), "u");
  const danaus_array filter = {"k", k, sizeof k};
  check(danaus_prepare(plan, &filter, 1, NULL), "filter");
  const danaus_array arrays[] = {{"u", device_u, sizeof u}, {"y", device_y, sizeof y}};
  check(danaus_execute(plan, arrays, 2, NULL), "execute");
  check(danaus_copy_to_host(0, y, device_y, sizeof y), "y");
  int differ = 0;
  for (int i = 0; i < kSamples; ++i) differ += abs((int)y[i] - (int)u[i]) > 4; /* units in the last place */
  printf("%d of %d samples differ from u\n", differ, kSamples);
  danaus_free(device_u);
  danaus_free(device_y);
  danaus_plan_destroy(plan);
  return differ == 0 ? 0 : 1;
}
