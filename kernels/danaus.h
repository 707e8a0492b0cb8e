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
 * Other operations likewise, shortconv_..., ssmconv_..., spectral_... and gradients: danaus_case_array() names the
 * arrays of each.
 *
 * Every function returns a status; nothing is thrown across this interface. After an error that is not CUDA's own a
 * plan is as it was before the call. Any thread may call, any number at once. docs/guarantees.md of the sources says
 * what holds for threads, streams, captures and lifetimes.
 *
 * Structs that callers fill or have filled begin with `size`, which the caller sets to sizeof of the struct:
 *
 *   danaus_call call = {.size = sizeof call};             C, C++20; all other fields are 0
 *   danaus_call call{}; call.size = sizeof call;          C++
 *
 * A later version may add fields at the end. It serves programs that were compiled with an earlier header: fields that
 * such a program has not count as 0, and are not written. danaus_array is the element of arrays, and stays as it is.
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
  DANAUS_BAD_INPUT = 1,     /* what the caller gave; nothing was done */
  DANAUS_NO_DEVICE = 2,     /* no such CUDA device, or a library without CUDA */
  DANAUS_OUT_OF_MEMORY = 3, /* of host or device */
  DANAUS_CUDA_ERROR = 4,    /* the CUDA runtime or driver refused a call */
  DANAUS_INTERNAL = 5,      /* an error of this library */
  DANAUS_INTERRUPTED = 6    /* the caller asked for the end of the call */
} danaus_status;

typedef struct danaus_plan danaus_plan;

/* "0.1.0" */
DANAUS_API const char* danaus_version(void);

/* What went wrong in the last call of this thread that failed: operation, value and rule. Valid until the thread's next
 * call. */
DANAUS_API const char* danaus_last_error(void);

/* Extents of an array at most, more than any operation has. */
#define DANAUS_MAX_RANK 8

/* CUDA devices; 0 without CUDA or a driver. */
DANAUS_API int danaus_device_count(void);

/* A plan for a case (its token, as in the README) on a CUDA device. kept [N] marks the frequencies that a case with a
 * mask keeps, 1 or 0; NULL and 0 without a mask. */
DANAUS_API danaus_status danaus_plan_create(const char* token, int device, const uint8_t* kept, size_t kept_count,
                                            danaus_plan** plan);
/* Calls that other threads are in go on to their end; kernels that still run are the caller's to wait for. From here on
 * every function refuses the plan: no other one will have its handle. NULL is no plan. */
DANAUS_API void danaus_plan_destroy(danaus_plan* plan);

/* One line: kernel, N and its factors, threads, shared memory, device. Valid as long as the plan. */
DANAUS_API const char* danaus_plan_description(const danaus_plan* plan);

/* The name of the plan's kernel. Valid as long as the plan. */
DANAUS_API const char* danaus_plan_kernel(const danaus_plan* plan);

/* One word: how danaus_prepare lays out what it makes. Plans with the same word read each other's, where the memory has
 * danaus_bytes.prepared bytes at least. A plan of gradients (fftconvgrad_...) and one of the same convolution
 * (fftconv_...) often have the same: a training step then transforms its filters once. Valid as long as the plan. */
DANAUS_API const char* danaus_plan_layout(const danaus_plan* plan);

typedef struct danaus_bytes {
  size_t size; /* sizeof(danaus_bytes) */
  int64_t prepared;  /* what danaus_prepare makes of the filters */
  int64_t workspace; /* between the launches of danaus_execute, for this batch */
  int64_t constants; /* that the plan keeps on the device */
} danaus_bytes;
/* Of a call of so many rows, from 1 to the case's; 0 for the case's. A case without batched arrays has no smaller
 * calls. */
DANAUS_API danaus_status danaus_plan_bytes(const danaus_plan* plan, int64_t batch, danaus_bytes* bytes);

typedef enum danaus_role { DANAUS_INPUT = 0, DANAUS_FILTER = 1, DANAUS_OUTPUT = 2 } danaus_role;

/* An array that a case reads or writes: contiguous, the last extent fastest. */
typedef struct danaus_array_info {
  size_t size; /* sizeof(danaus_array_info) */
  const char* name;
  const char* dtype; /* f16, bf16, f32 or f64 */
  danaus_role role;
  int batched; /* its first extent is the batch, and a call may have fewer rows */
  int rank;
  int64_t extents[DANAUS_MAX_RANK]; /* 0 from rank on */
} danaus_array_info;

/* Array number index of a case, from 0; beyond the last one DANAUS_BAD_INPUT. No device is needed. */
DANAUS_API danaus_status danaus_case_array(const char* token, int index, danaus_array_info* info);

/* An array of a call, by name. */
typedef struct danaus_array {
  const char* name;
  void* data; /* of the plan's device; filters of the host too */
  size_t bytes;
} danaus_array;

/* What may come with a call; all zero but for the size, or NULL in its place, for the plan's own memory, the case's
 * batch and the default stream. */
typedef struct danaus_call {
  size_t size;    /* sizeof(danaus_call) */
  void* stream;   /* cudaStream_t */
  int64_t batch;  /* rows of this call, where they are fewer than the case's */
  void* prepared; /* of the caller, aligned to 16 bytes: written by danaus_prepare, read by danaus_execute */
  size_t prepared_bytes;
  const char* prepared_for; /* danaus_plan_layout() of the plan that prepared it, where the caller keeps it: checked */
  void* workspace;          /* of the caller, aligned to 16 bytes */
  size_t workspace_bytes;
  /* Not 0: the caller knows that all of this memory and the arrays, filters too, are of the plan's device, and the
   * stream, as one does who keeps tensors. CUDA is not asked for that, which takes longer than all else before the
   * launches; where it is not so, the kernels fail. Sizes, alignment and overlaps are checked as ever. */
  int vouched;
} danaus_call;

/* Filters of the host are copied, and ready when this returns; those of the device are read by kernels on the stream.
 */
DANAUS_API danaus_status danaus_prepare(danaus_plan* plan, const danaus_array* filters, size_t count,
                                        const danaus_call* call);

/* Inputs and outputs, all of the case's; outputs overlap nothing else. Asynchronous. Nothing is allocated while the
 * stream is captured: without a workspace of the caller a capture needs one call like it before, whose workspace it
 * keeps as long as the plan lives. */
DANAUS_API danaus_status danaus_execute(const danaus_plan* plan, const danaus_array* arrays, size_t count,
                                        const danaus_call* call);

/* Both, for filters that are others at every call: all arrays of the case. */
DANAUS_API danaus_status danaus_whole_call(danaus_plan* plan, const danaus_array* arrays, size_t count,
                                           const danaus_call* call);

/* Memory of a device, up to 2^62 bytes, for programs that have no CUDA runtime of their own. Copies are done when they
 * return, after all that was asked of the device before them. */
DANAUS_API danaus_status danaus_allocate(int device, size_t bytes, void** data);
/* NULL, and what danaus_allocate has not made or danaus_free has freed, is left alone. */
DANAUS_API void danaus_free(void* data);
DANAUS_API danaus_status danaus_copy_to_device(int device, void* to, const void* from, size_t bytes);
DANAUS_API danaus_status danaus_copy_to_host(int device, void* to, const void* from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
