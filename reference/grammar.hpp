// The fields of every operation's tokens. One declaration of a field serves the parser, its messages, `danaus help
// tokens`, `danaus explain` and docs/tokens.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace danaus {

struct TokenField {
  enum class Kind {
    word,    // stands by itself: pregate
    one_of,  // one of some words: causal, circular
    number,  // a name and a whole number: l1024
    list,    // a name and whole numbers: r8x8x16
    other,   // a name and a notation that the operation reads: keep0to63+128to255
  };

  Kind kind = Kind::word;
  std::string_view name;     // what the field begins with; of one_of the property that its words name
  std::string_view form;     // in a usage line: l<L>
  std::string_view meaning;  // a phrase, without a full stop
  std::string_view example;  // fields to put into the operation's example, in place of its own of the same name
  bool required = false;
  std::string_view values = {};      // of one_of the words, with | between; of a list or another notation a phrase
  std::int64_t least = 1, most = 0;  // of a number; most 0: no limit of its own
  std::string_view refused = {};     // why this operation refuses a field that related ones have
  std::string values_in_words() const;
  std::vector<std::string> words() const;  // of word and one_of: how the field may be written
};

struct Grammar {
  std::string_view operation;
  std::vector<TokenField> fields;  // in the order in which token() prints them
  std::string_view example;        // a small case that danaus verify computes in about a second

  // "fftconv_<dtype>_<mode>_l<L>[_k<K>]..."
  std::string usage() const;
  // The declaration that a field of a token belongs to; null where none does.
  const TokenField* field_of(std::string_view field) const;
  // "f16|bf16, l, k": every field that the operation has.
  std::string names() const;
};

// Of every operation.
std::span<const Grammar> grammars();
// Null where no operation has the word.
const Grammar* find_grammar(std::string_view operation);
// That of a token's operation. Throws as parse_case() does where there is none.
const Grammar& grammar_of(std::string_view token);

// Fields that several operations share.
inline constexpr TokenField kTypeField{.kind = TokenField::Kind::one_of,
                                       .name = "dtype",
                                       .form = "<dtype>",
                                       .meaning = "type of the samples",
                                       .example = "bf16",
                                       .required = true,
                                       .values = "f16|bf16|f32|f64"};
inline constexpr TokenField kFilterTypeField{
    .kind = TokenField::Kind::one_of,
    .name = "type of k",
    .form = "kf16|kbf16",
    .meaning = "type of the filter, if not fp32; the same as that of the samples",
    .example = "kf16",
    .values = "kf16|kbf16"};
inline constexpr TokenField kLengthField{.kind = TokenField::Kind::number,
                                         .name = "l",
                                         .form = "l<L>",
                                         .meaning = "samples of a row, L",
                                         .example = "l300",
                                         .required = true};
inline constexpr TokenField kBatchField{.kind = TokenField::Kind::number,
                                        .name = "b",
                                        .form = "b<B>",
                                        .meaning = "batch rows, B",
                                        .example = "b3",
                                        .required = true};
inline constexpr TokenField kChannelsField{.kind = TokenField::Kind::number,
                                           .name = "h",
                                           .form = "h<H>",
                                           .meaning = "channels, H",
                                           .example = "h5",
                                           .required = true};
inline constexpr TokenField kPregateField{.name = "pregate",
                                          .form = "pregate",
                                          .meaning = "u is multiplied by an input of its size before the convolution",
                                          .example = "pregate"};
inline constexpr TokenField kPostgateField{.name = "postgate",
                                           .form = "postgate",
                                           .meaning = "y is multiplied by an input of its size after the convolution",
                                           .example = "postgate"};

}  // namespace danaus
