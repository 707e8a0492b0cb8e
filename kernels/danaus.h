/* Danaus: long convolutions by FFT on GPU tensor cores. The C interface.
 *
 * A plan is made once for a case, given a filter, and executed any number of times:
 *
 *   danaus_plan* plan;
 *   danaus_plan_create("fftconv_f16_causal_l1024_b64_h768", 0, NULL, 0, &plan);
 *   danaus_array k = {"k", k_data, k_bytes};
 *   danaus_prepare(plan, &k, 1, NULL);
 *   danaus_array arrays[] = {{"u", u_data, u_bytes}, {"y", y_data, y_bytes}};
 *   danaus_execute(plan, arrays, 2, NULL);
 *
 * Plans compute other operations in the same way: shortconv_..., ssmconv_..., spectral_... and gradients.
 * danaus_case_array() names the arrays of a case. docs/tokens.md of the sources describes tokens.
 *
 * Every function returns a status and throws nothing. A failed call leaves a plan as it was, except after an error of
 * CUDA itself. Any number of threads may call at once. docs/guarantees.md of the sources says what holds for threads,
 * streams, captures and lifetimes.
 *
 * Structs of calls and answers begin with `size`. The caller sets it to sizeof of the struct:
 *
 *   danaus_call call = {.size = sizeof call};             C, C++20; all other fields are 0
 *   danaus_call call{}; call.size = sizeof call;          C++
 *
 * A later version may add fields at the end of a struct. It still serves programs compiled with an earlier header:
 * fields that the program lacks count as 0 and are not written. danaus_array never changes.
 */
#ifndef DANAUS_H
#define DANAUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define DANAUS_API __attribute__((visibility("default")))
#else
#define DANAUS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum danaus_status {
  DANAUS_OK = 0,
  DANAUS_BAD_INPUT = 1,     /* an argument is wrong; nothing was done */
  DANAUS_NO_DEVICE = 2,     /* the CUDA device does not exist, or the library has no CUDA */
  DANAUS_OUT_OF_MEMORY = 3, /* the host or the device has too little memory */
  DANAUS_CUDA_ERROR = 4,    /* the CUDA runtime or driver refused a call */
  DANAUS_INTERNAL = 5,      /* this library has a fault */
  DANAUS_INTERRUPTED = 6    /* the caller interrupted the call */
} danaus_status;

typedef struct danaus_plan danaus_plan;

/* "0.2.0" */
DANAUS_API const char* danaus_version(void);

/* The message of this thread's last failed call: operation, value and rule. Valid until the thread's next call. */
DANAUS_API const char* danaus_last_error(void);

/* The most extents of an array. */
#define DANAUS_MAX_RANK 8

/* The number of CUDA devices; 0 without CUDA or a driver. */
DANAUS_API int danaus_device_count(void);

/* Makes a plan for a case, given as its token, on a CUDA device. kept [N] marks the frequencies that a mask keeps by 1,
 * the others by 0. It is NULL, and kept_count 0, for a case without a mask. */
DANAUS_API danaus_status danaus_plan_create(const char* token, int device, const uint8_t* kept, size_t kept_count,
                                            danaus_plan** plan);
/* Destroys the plan. Calls of other threads finish first; the caller must wait for kernels that still run. Every
 * function refuses the handle from then on, and no later plan gets it. NULL does nothing. */
DANAUS_API void danaus_plan_destroy(danaus_plan* plan);

/* One line that names the kernel, N and its factors, threads, shared memory and device. Valid as long as the plan. */
DANAUS_API const char* danaus_plan_description(const danaus_plan* plan);

/* The name of the plan's kernel. Valid as long as the plan. */
DANAUS_API const char* danaus_plan_kernel(const danaus_plan* plan);

/* The layout of prepared filters, one word. Plans of the same layout can read each other's prepared filters, if the
 * memory has at least danaus_bytes.prepared bytes. A convolution (fftconv_...) and its gradients (fftconvgrad_...)
 * often share a layout, so a training step transforms its filters once. Valid as long as the plan. */
DANAUS_API const char* danaus_plan_layout(const danaus_plan* plan);

typedef struct danaus_bytes {
  size_t size;       /* sizeof(danaus_bytes) */
  int64_t prepared;  /* prepared filters, written by danaus_prepare */
  int64_t workspace; /* of danaus_execute for this batch */
  int64_t constants; /* tables that the plan keeps on the device */
} danaus_bytes;
/* Bytes of device memory for a call with this batch, from 1 to the batch of the case; 0 means the batch of the case. A
 * case without batched arrays has no smaller calls. */
DANAUS_API danaus_status danaus_plan_bytes(const danaus_plan* plan, int64_t batch, danaus_bytes* bytes);

typedef enum danaus_role { DANAUS_INPUT = 0, DANAUS_FILTER = 1, DANAUS_OUTPUT = 2 } danaus_role;

/* An array that a case reads or writes. It is contiguous, with the last extent fastest, unless a call says its strides.
 */
typedef struct danaus_array_info {
  size_t size; /* sizeof(danaus_array_info) */
  const char* name;
  const char* dtype; /* f16, bf16, f32 or f64 */
  danaus_role role;
  int batched; /* its first extent is the batch, and a call may have fewer rows */
  int rank;
  int64_t extents[DANAUS_MAX_RANK]; /* 0 from rank on */
} danaus_array_info;

/* Describes array number index of a case, from 0. Beyond the last array it returns DANAUS_BAD_INPUT. Needs no device.
 */
DANAUS_API danaus_status danaus_case_array(const char* token, int index, danaus_array_info* info);

/* An array of a call, by name. */
typedef struct danaus_array {
  const char* name;
  void* data;   /* memory of the plan's device; filters may be in host memory */
  size_t bytes; /* from the first number to behind the last one */
} danaus_array;

/* Strides of an array of rows [B, H, L], in samples: to the next batch row's row, and to the next channel's. */
typedef struct danaus_strides {
  const char* name;
  int64_t row;
  int64_t channel;
} danaus_strides;

/* Options of a call. NULL, or zeros in every field but size, mean the plan's own memory, the batch of the case and the
 * default stream. */
typedef struct danaus_call {
  size_t size;    /* sizeof(danaus_call) */
  void* stream;   /* cudaStream_t */
  int64_t batch;  /* batch rows of this call, if fewer than those of the case */
  void* prepared; /* memory of the caller, aligned to 16 bytes: written by danaus_prepare, read by danaus_execute */
  size_t prepared_bytes;
  const char* prepared_for; /* danaus_plan_layout() of the plan that wrote prepared, to be checked; or NULL */
  void* workspace;          /* memory of the caller, aligned to 16 bytes */
  size_t workspace_bytes;
  /* Not 0: the caller vouches that all memory and the stream are of the plan's device, filters included. CUDA is not
   * asked for it, which saves most of a call's time on the host. If it is not so, the kernels fail. Sizes, alignment
   * and overlaps are checked all the same. */
  int vouched;
  /* Of arrays of the call that are not contiguous, by name; NULL: all are. Those of an array that the call has not say
   * nothing. Long convolutions, their gradients and steps take them. */
  const danaus_strides* strides;
  size_t stride_count;
} danaus_call;

/* Prepares filters. Filters in host memory are copied, and ready when this returns. Filters in device memory are read
 * by kernels on the stream. */
DANAUS_API danaus_status danaus_prepare(danaus_plan* plan, const danaus_array* filters, size_t count,
                                        const danaus_call* call);

/* Executes the plan. arrays are all inputs and outputs of the case; outputs overlap no other array. Asynchronous.
 * Nothing is allocated while the stream is captured. A capture may come without a workspace of the caller. It then
 * takes the workspace of an earlier call of the same kind. It keeps this workspace as long as the plan lives. */
DANAUS_API danaus_status danaus_execute(const danaus_plan* plan, const danaus_array* arrays, size_t count,
                                        const danaus_call* call);

/* Prepares and executes, for filters that change with every call. arrays are all arrays of the case. */
DANAUS_API danaus_status danaus_whole_call(danaus_plan* plan, const danaus_array* arrays, size_t count,
                                           const danaus_call* call);

/* Allocates memory of a device, up to 2^62 bytes, for programs without a CUDA runtime of their own. The copies below
 * wait for all earlier work of the device, and are done when they return. */
DANAUS_API danaus_status danaus_allocate(int device, size_t bytes, void** data);
/* Frees memory of danaus_allocate. NULL, and any other or freed pointer, does nothing. */
DANAUS_API void danaus_free(void* data);
DANAUS_API danaus_status danaus_copy_to_device(int device, void* to, const void* from, size_t bytes);
DANAUS_API danaus_status danaus_copy_to_host(int device, void* to, const void* from, size_t bytes);

typedef struct danaus_selftest_report {
  size_t size; /* sizeof(danaus_selftest_report) */
  int cases;
  int same;
  int differing;
  int absent;      /* whose kernels this build, or the device, has not */
  char first[256]; /* the token of the first that differs, "" where none does */
} danaus_selftest_report;
/* Computes small cases of the kernels on a CUDA device, on canonical data, and compares their outputs bit for bit with
 * what was committed. Takes seconds. An output that differs is no error: the report says how many do. */
DANAUS_API danaus_status danaus_selftest(int device, danaus_selftest_report* report);

#ifdef __cplusplus
}
#endif

#endif
