/* The C interface of the study, in the library of the Python package: the kernels on the CPU, the truth, and the
 * commands of the program, whose rows come back as JSON. It goes on where danaus.h ends, with its statuses, arrays,
 * plans and danaus_last_error().
 */
#ifndef DANAUS_STUDY_H
#define DANAUS_STUDY_H

#include "kernels/danaus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Words that the library keeps until they are destroyed; of a handle that is none, "". */
typedef struct danaus_text danaus_text;
DANAUS_API const char* danaus_text_data(const danaus_text* text);
DANAUS_API void danaus_text_destroy(danaus_text* text);

/* A plan for the CPU: the kernel that an H100 or H200 would run, executed operation by operation and checked, with the
 * roundings that it has there. Arrays are of the host. A mask is that of the case. */
DANAUS_API danaus_status danaus_plan_create_on_executor(const char* token, danaus_plan** plan);

/* danaus_selftest() on the CPU. */
DANAUS_API danaus_status danaus_selftest_on_executor(danaus_selftest_report* report);

/* What danaus_plan_create takes as kept [N], 0 of them where the case has no mask: count is how many there are, which
 * are written where kept has room for so many. */
DANAUS_API danaus_status danaus_case_mask(const char* token, uint8_t* kept, size_t room, size_t* count);

/* The prepared bytes and the constants of a plan that need not exist, on a CUDA device or, for -1, an H100 or H200; its
 * workspace is left 0. */
DANAUS_API danaus_status danaus_case_bytes(const char* token, int device, danaus_bytes* bytes);

/* danaus_plan_layout() of such a plan. */
DANAUS_API danaus_status danaus_case_layout(const char* token, int device, danaus_text** layout);

/* What a token asks for, as one JSON object: {"operation": "fftconv", "dtype": "f16", "l": 1024, ...}, the field
 * "asked" of a row. */
DANAUS_API danaus_status danaus_case_asked(const char* token, danaus_text** asked);

/* The fields of a token, of which any may be missing, as in fftconv_causal. One JSON object: {"operation": "fftconv",
 * "fields": [{"name": "mode", "kind": "one_of", "values": ["causal", "circular"], "value": "causal"}, ...]}, in the
 * order in which tokens have them. A field that the token lacks has no value. Kinds are word, one_of, number, list, and
 * other. */
DANAUS_API danaus_status danaus_token_fields(const char* token, danaus_text** fields);

/* The token of a case of convolution under a mask, which keeps the frequencies whose kept [N] is 1 and removes those
 * whose is 0: as a file .npy of --mask. */
DANAUS_API danaus_status danaus_case_masked(const char* token, const double* kept, size_t count, danaus_text** masked);

/* All arrays of a case, all of double, outputs apart from all others: outputs are computed in double and rounded once
 * to the case's types. method: of convolutions fftw, monarch or direct, of other operations definition. */
DANAUS_API danaus_status danaus_compute(const char* token, const char* method, const danaus_array* arrays,
                                        size_t count);

/* How far outputs are from the truth, over all rows and of the worst row, and how far they may be, as one JSON object:
 * "verify" of the schema verify. Arrays as above. method says how they were computed: by one of the above, or "kernel"
 * by that of the plan, which may be NULL for other methods. */
DANAUS_API danaus_status danaus_judge(const char* token, const char* method, const danaus_plan* plan,
                                      const danaus_array* arrays, size_t count, danaus_text** verdict);

/* The arithmetic by which somebody's outputs are claimed to be computed. */
typedef struct danaus_claim {
  size_t size;            /* sizeof(danaus_claim) */
  const char* arithmetic; /* rounding (of the outputs alone), fp32 (inside), fp16 or bf16 (between stages) */
  int roundings;          /* R of the bound c u sqrt(R); 0: that of FFTs of radix 2 there and back */
  int results;            /* that differ: 0 or 1 against the truth, 2 against another result, whose bounds add up */
  const danaus_array* expected; /* outputs to compare with, in double; NULL: the truth is computed */
  size_t expected_count;
} danaus_claim;

/* danaus_judge() of outputs that anything may have computed. Each number may err by a rounding to its type, and rows
 * by the bound of the claim. Arrays as above; outputs may be left out, and are not judged then. */
DANAUS_API danaus_status danaus_judge_claim(const char* token, const danaus_claim* claim, const danaus_array* arrays,
                                            size_t count, danaus_text** verdict);

/* Runs verify, model, what-if, count, factors, memory, list or explore: words[0] is the command, the others are its
 * options as in a shell, without --json and --help. rows is what --json would write. A row that failed its check is no
 * error; a command without the GPU that it needs gives DANAUS_NO_DEVICE. stop is NULL or a number of the caller's.
 * Another thread may set it: this call then ends between two rows with DANAUS_INTERRUPTED, and no other call does. */
DANAUS_API danaus_status danaus_run(const char* const* words, size_t count, const int* stop, danaus_text** rows);

#ifdef __cplusplus
}
#endif

#endif
