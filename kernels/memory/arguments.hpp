// What a fused convolution's kernel is given, the same for every family and on both machines.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/tensor_map.hpp"
#include "kernels/memory/division.hpp"

namespace danaus {

// How rows travel between global and shared memory.
enum class Transfer {
  tensor,     // bulk tensor copies: sm_90, L a multiple of the tensor map's grain, 16-byte aligned
  enclosing,  // the same of the aligned bytes that a row lies in, stored by threads: sm_90, any L and alignment that
              // all rows share
  overhang,   // the same where some rows have samples beyond N (RowPlace in memory/rows.hpp)
  vector,     // 16 bytes a thread: L a multiple of 8, 16-byte aligned
  element,    // sample by sample: anything
};

// Which transfers a kernel is compiled for: on the GPU one path each, so that none carries code of another.
enum class Path { tensor, enclosing, overhang, threads, any };
inline constexpr std::size_t kPaths = 4;  // without any

DANAUS_HOST_AND_DEVICE constexpr bool encloses(Path path) { return path == Path::enclosing || path == Path::overhang; }

// Coordinates of a map have 32 bits: one dimension counts blocks of so many samples.
inline constexpr int kMapBlockBits = 30, kMapBlock = 1 << kMapBlockBits;

DANAUS_HOST_AND_DEVICE constexpr Path path_of(Transfer transfer) {
  return transfer == Transfer::tensor      ? Path::tensor
         : transfer == Transfer::enclosing ? Path::enclosing
         : transfer == Transfer::overhang  ? Path::overhang
                                           : Path::threads;
}

// Where rows of an array stand: samples from one to the next batch row's, and to the next channel's.
struct RowStrides {
  long long row, channel;
  bool operator==(const RowStrides&) const = default;
};

DANAUS_HOST_AND_DEVICE constexpr RowStrides contiguous(long long channels, long long length) {
  return {channels * length, length};
}

struct ConvolutionArguments {
  // Of whole rows for Transfer::tensor. Where rows are enclosed, of the aligned bytes from any on, and lines of 128
  // bytes; of y what store_enclosed() says.
  TensorMap u_map, y_map, pregate_map, postgate_map;
  TensorMap u_line, y_line, pregate_line, postgate_line;
  const void* u;                                                       // [B, H, L], each with its strides
  const void* pregate;                                                 // [B, H, L] or null
  const void* postgate;                                                // [B, H, L] or null
  void* y;                                                             // [B, H, L]
  RowStrides u_strides, pregate_strides, postgate_strides, y_strides;  // tensor maps have them, too
  const std::uint32_t* spectrum;                                       // [H, N] complex pairs in the kernel's order
  const float* spectrum_factors;  // [H]: what each channel's was divided by, or null: nothing
  const float* spectrum_ranges;   // [H, parts, 2], f16: least and greatest energy of items that the first walk takes
  const std::uint32_t* tables;    // constants of the kernel
  int batch, channels, length;
  // Enclosed rows, of which all that is read has the same strides: samples from an aligned address to where every array
  // begins; from which aligned sample on a map of whole slabs would reach beyond the arrays' end; where the lines' maps
  // begin, which end there.
  int shift;
  int whole_lines;  // so many lines of each plane (RowLayout) are of samples that every row has
  long long late, lines_begin;
  // For the second walk: how many samples of a row are results; whether rows are apart, so that there is a second walk:
  // those of planes between outer passes are not.
  int result_length, spectrum_parts;  // parts 0: the same range for all channels
  bool rows_apart;
  float* energies;    // of clusters: [items, N2 / 8, 2] as an outer pass leaves them (families/outer), or null
  Division division;  // of the items among blocks or warps
  Transfer transfer;
};

// Of a convolution whose rows short filters convolve first. Its P parts are u and the gates that there are.
struct FilteredArguments : ConvolutionArguments {
  const float* taps;  // [P, H, T]
  const float* bias;  // [P, H] or null
  int tap_count;      // T, at most 8
};

}  // namespace danaus
