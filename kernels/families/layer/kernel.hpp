// layer: a spectral layer, y = F^-1 (W F u), of few frequencies: three products of small matrices, one after the other;
// in one kernel, or in passes between which kept frequencies alone are in global memory.
//
// source     Li et al. 2021, the Fourier neural operator; one kernel for all of it as in TurboFNO (Wu et al. 2025), by
//            dense matrices, in which what is cut off and what is padded does not exist
// index      p[n] = u[n] + u[X-1-n], q[n] = u[n] - u[X-1-n], n < X/2; with c, s the cosine and sine of
//            2 pi k (n + 1/2) / X
//              U[k] = sum_n c p[n] - i s q[n]     V[k] = W[k] U[k]
//              A[n] = sum_k c V[k]                B[n] = i sum_k s V[k]     y[n] = A + B, y[X-1-n] = A - B
//            The half in n + 1/2 turns U by a phase that V has too and the inverse takes back. Where X is even, c of
//            X/2-1-n is c, s is -s for even k, and the other way round for odd k:
//              U[k] = sum_n c (p[n] +- p[X/2-1-n]) - i s (q[n] -+ q[X/2-1-n]), n < X/4
//              A[X/2-1-n] = A of even k - A of odd k,  B[X/2-1-n] = B of odd k - B of even k
//            Each fold halves what is multiplied: M X / 2 real products for each of two parts each way. Real samples:
//            real parts of A and B alone. Tiles of frequencies are of even ones or of odd ones (layout.hpp).
//            Of two axes there and back are passes of a plane: its rows along X are the channels, and the product with
//            the matrix of the kept frequencies of X is that of weights, which takes twice the work of a folded one.
//            Or, of weights that all frequencies share, which are as well applied before that transform as after it:
//            rows go there and their channels are mixed; then columns of spectra there and back, and rows back.
// shapes     u [B, C_in, X], y [B, C_out, X], or any other order of B and C; frequencies k by the tables. Passes of two
//            axes: u [B C_in, X, Y], spectra [B C_in, M_x M_y]
// types      samples f16, bf16, f32; products of the same, f32 in TF32 or in two parts each (three products), sums f32
// scaling    U by a power of two near 1 / sqrt(X), in the table; y by the rest of 1 / X, in f32
// memory     a block has one item of the batch after the other, all channels (many weights of each frequency: several
//            items, the columns of that product); of passes, and of few items, a slice of its frequencies, of its
//            channels, or of both. Warps share out tiles of channels and frequencies, and where these are fewer than
//            warps the points too. Samples and spectra of passes travel between global memory and registers, a sector
//            and more at a time; others lie in shared memory (layout.hpp), those of outputs in the place of those of
//            inputs where each warp has one product. Of few items the blocks of a cluster have slices of one item's
//            outputs, transform a share of its inputs each and send their spectra to the others. Where there are many
//            items teams of warps have one each, and what a warp mixes stays in its registers until it is samples, or
//            until all chunks of inputs are added up: its columns are those that an inverse contracts. Points of
//            complex samples may come to a lane by way of shared memory, so that they need no registers before they are
//            folded, and those of the next item can set out while this one is mixed. Tables, and weights where there is
//            room, are in shared memory too: through L1, which samples flow through, they came out of L2 again for each
//            item
// error      counted by roundings(): folded samples, tables, weights, spectra twice, y. Samples of 16 bits are rounded
//            at each fold
// reference  reference/spectral/layer.hpp   test   tests/kernels/layer_test.cpp
#pragma once

#include "kernels/families/layer/filter.hpp"
#include "kernels/families/layer/prepare.hpp"

namespace danaus::layer::inline DANAUS_BACKEND {

template <Key key, Tuning tuning>
struct Shape {
  static constexpr Layout layout{key, tuning};
  static_assert(!layout.broken_rule(), "tunings.hpp has a line that Layout::broken_rule() refuses");
};

template <class P, Path path>
DANAUS_DEVICE void run(const Arguments& a) {
  if constexpr (P::layout.key.stage == Stage::arrange)
    Arrangement<P>(a).run();
  else if constexpr (P::layout.key.stage == Stage::filter)
    Filter<P>(a).run();
  else
    Block<P>(a).run();
}

}  // namespace danaus::layer::inline DANAUS_BACKEND
