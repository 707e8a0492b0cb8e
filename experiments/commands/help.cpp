// danaus help: what a command does, and what a token may say.
#include <algorithm>

#include "experiments/cli/command_line.hpp"
#include "experiments/cli/paragraph.hpp"
#include "experiments/commands/commands.hpp"
#include "reference/grammar.hpp"
#include "reference/operation.hpp"
#include "reference/spelling.hpp"

namespace danaus {
namespace {

constexpr const char* kDescription =
    "Without a topic: the commands. COMMAND: its options. tokens: every field of every operation's tokens, with its\n"
    "values and an example; tokens OPERATION: those of one. danaus explain TOKEN says what a token asks for.";

constexpr std::size_t kIndent = 24;

std::string_view summary_of(const Grammar& grammar) {
  return std::ranges::find(operations(), grammar.operation, &Operation::word)->summary;
}

// By their words, so that an operation stands before its gradients.
std::vector<const Grammar*> sorted_grammars() {
  std::vector<const Grammar*> list;
  for (const Grammar& grammar : grammars()) list.push_back(&grammar);
  std::ranges::sort(list, {}, &Grammar::operation);
  return list;
}

// Another operation whose fields, but for those refused here, are the same; null where the operation has its own.
const Grammar* with_same_fields(const Grammar& grammar) {
  for (const Grammar* other : sorted_grammars()) {
    if (other->operation == grammar.operation) return nullptr;
    if (std::ranges::equal(other->fields, grammar.fields, {}, &TokenField::form, &TokenField::form)) return other;
  }
  return nullptr;
}

// Fields that the other operation, which has the same, takes alone.
std::string refused_fields(const Grammar& grammar, const Grammar& other) {
  std::string names;
  for (std::size_t i = 0; i < grammar.fields.size(); ++i)
    if (!grammar.fields[i].refused.empty() && other.fields[i].refused.empty())
      names.append(names.empty() ? "" : ", ").append(grammar.fields[i].name);
  return names;
}

std::string same_fields_in_words(const Grammar& grammar, const Grammar& other) {
  const std::string refused = refused_fields(grammar, other);
  return text("The fields are those of ", other.operation, refused.empty() ? "." : ", without " + refused + '.');
}

// The text with `added` before each `mark`.
std::string with_before(std::string_view text, std::string_view mark, char added) {
  std::string all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(mark)) all += added;
    all += text[i];
  }
  return all;
}

void print_grammar(std::ostream& out, const Grammar& grammar, bool alone) {
  out << paragraph(text(grammar.operation, ": ", summary_of(grammar)));
  const Grammar* same = alone ? nullptr : with_same_fields(grammar);
  if (same) out << paragraph(same_fields_in_words(grammar, *same), 2);
  if (!same) {
    out << paragraph(with_before(grammar.usage(), "[_", ' '), 4, "  ") << '\n';
    for (const TokenField& field : grammar.fields) {
      if (!field.refused.empty()) continue;
      std::string words(field.meaning);
      if (const std::string values = field.values_in_words(); !values.empty()) words += "; " + values;
      words += text("; for example ", field.example);
      out << paragraph(words, kIndent, text("  ", field.form));
    }
  }
  out << (same ? "" : "\n") << "  danaus verify --case " << grammar.example << "\n\n";
}

void print_page(std::ostream& out, const Grammar& grammar) {
  out << "## `" << grammar.operation << "`\n\n";
  std::string summary(summary_of(grammar));
  summary[0] = static_cast<char>(std::toupper(summary[0]));
  out << summary << ".\n\n";
  if (const Grammar* same = with_same_fields(grammar)) {
    out << same_fields_in_words(grammar, *same) << "\n\n";
  } else {
    out << "```\n" << grammar.usage() << "\n```\n\n| field | meaning | values | example |\n| --- | --- | --- | --- |\n";
    for (const TokenField& field : grammar.fields) {
      if (!field.refused.empty()) continue;
      out << "| `" << with_before(field.form, "|", '\\') << "` | " << field.meaning << " | " << field.values_in_words()
          << " | `" << field.example << "` |\n";
    }
    out << '\n';
  }
  out << "```sh\ndanaus verify --case " << grammar.example << " --method kernel\n```\n\n";
}

void print_tokens(std::ostream& out, const std::string& operation, bool markdown) {
  if (!operation.empty() && !find_grammar(operation)) {
    std::vector<std::string> known;
    for (const Grammar* grammar : sorted_grammars()) known.emplace_back(grammar->operation);
    fail(must_be_one_of("help: operation", operation, known));
  }
  if (!markdown)
    out << paragraph(
               "A token is a case as one word: its operation, then fields with underscores between, in any order, each "
               "once. Fields in brackets may be left out. danaus explain TOKEN says what a token asks for.")
        << '\n';
  for (const Grammar* grammar : sorted_grammars()) {
    if (!operation.empty() && grammar->operation != operation) continue;
    markdown ? print_page(out, *grammar) : print_grammar(out, *grammar, !operation.empty());
  }
}

}  // namespace

int run_help(std::span<const std::string> words, Console& console) {
  CommandLine line("help", kDescription);
  std::string topic, operation;
  bool markdown = false;
  line.argument("TOPIC", topic, false, "a command, or tokens");
  line.argument("OPERATION", operation, false, "of tokens: one operation alone");
  line.flag("markdown", markdown, "tokens as docs/tokens.md has them");
  if (!line.parse(words, console)) return kExitOk;
  if (topic.empty()) {
    print_program_help(console.out);
    return kExitOk;
  }
  if (topic == "tokens") {
    print_tokens(console.out, operation, markdown);
    return kExitOk;
  }
  std::vector<std::string> known = {"tokens"};
  for (const Command& command : commands()) {
    known.emplace_back(command.name);
    if (command.name != topic) continue;
    const std::vector<std::string> help = {"--help"};
    return command.run(help, console);
  }
  fail(must_be_one_of("help: topic", topic, known));
}

}  // namespace danaus
