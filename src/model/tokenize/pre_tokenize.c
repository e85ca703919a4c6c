/* "pre_tokenizer" of tokenizer.json: the pieces that a text is split into before a model sees it.
 *= huggingface/tokenizers, tokenizers/src/pre_tokenizers */
#include "model/tokenize/internal.h"

#include "base/text.h"

static void add_split(struct al_tokenizer_reader *r, const char *pattern, enum al_behavior behavior,
	bool is_inverted)
{
	al_steps_add(r->steps, r->arena,
		(struct al_step){.run = al_step_split,
			.pattern = al_pattern_of(r->arena, pattern),
			.behavior = behavior,
			.is_inverted = is_inverted});
}

/* ASCII's punctuation, and Unicode's: that of version 8, whose tables the reference implementation
 * has (the crate unicode_categories). What later versions added, to 16, is none, whichever version
 * this machine's library knows; U+166D was punctuation until 12. */
static const char punctuation[] =
	"(?![\\x{61D}\\x{9FD}\\x{A76}\\x{C77}\\x{C84}\\x{1B4E}\\x{1B4F}\\x{1B7D}-\\x{1B7F}"
	"\\x{2E43}-\\x{2E5D}\\x{10EAD}\\x{10F55}-\\x{10F59}\\x{10F86}-\\x{10F89}\\x{113D4}-\\x{"
	"113D8}"
	"\\x{1144B}-\\x{1145D}\\x{11660}-\\x{1166C}\\x{116B9}\\x{1183B}\\x{11944}-\\x{11946}\\x{"
	"119E2}"
	"\\x{11A3F}-\\x{11A46}\\x{11A9A}-\\x{11AA2}\\x{11B00}-\\x{11BE1}\\x{11C41}-\\x{11C45}"
	"\\x{11C70}\\x{11C71}\\x{11EF7}\\x{11EF8}\\x{11F43}-\\x{11F4F}\\x{11FFF}\\x{12FF1}\\x{"
	"12FF2}"
	"\\x{16D6D}-\\x{16D6F}\\x{16E97}-\\x{16E9A}\\x{16FE2}\\x{1E5FF}\\x{1E95E}\\x{1E95F}])"
	"[!-/:-@\\[-`{-~\\p{P}\\x{166D}]";

/* ---- parts that are a type alone ---- */

static bool read_bert(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_split(r, "\\p{White_Space}", AL_SPLIT_REMOVED, false);
	add_split(r, punctuation, AL_SPLIT_ISOLATED, false);
	return al_read_type_alone(r, node, err);
}

static bool read_whitespace(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"
	add_split(r, "[" WORD "]+|[^" WORD "\\p{White_Space}]+", AL_SPLIT_REMOVED, true);
	return al_read_type_alone(r, node, err);
}

static bool read_whitespace_split(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	add_split(r, "\\p{White_Space}", AL_SPLIT_REMOVED, false);
	return al_read_type_alone(r, node, err);
}

/* ---- parts with settings ---- */

struct byte_level {
	bool adds_blank, splits;
};

static bool read_byte_level(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("add_prefix_space", BOOLEAN, offsetof(struct byte_level, adds_blank)),
			.is_required = true},
		{AL_KEY("trim_offsets", BY, 0), .read = al_read_nothing},
		{AL_KEY("use_regex", BOOLEAN, offsetof(struct byte_level, splits)), .fallback = 1},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct byte_level byte_level = {0};

	if (!al_record_read(&r->source, &record, node, &byte_level, err))
		return false;
	if (byte_level.adds_blank)
		al_steps_add(r->steps, r->arena,
			(struct al_step){.run = al_step_prefix, .text = al_span_of(" ")});
	if (byte_level.splits) /*= openai/gpt-2, src/encoder.py */
		add_split(r,
			"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+"
			"| ?[^\\p{White_Space}\\p{L}\\p{N}]+"
			"|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+",
			AL_SPLIT_ISOLATED, false);
	al_steps_add(r->steps, r->arena, (struct al_step){.run = al_step_bytes});
	return true;
}

enum scheme { SCHEME_ABSENT, SCHEME_ALWAYS, SCHEME_FIRST, SCHEME_NEVER };

struct metaspace {
	const char *replacement;
	enum scheme scheme;
	bool splits, adds_prefix;
};

static bool check_metaspace(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	struct metaspace *m = record;
	const struct al_span text = al_span_of(m->replacement);

	if (text.n == 0 || al_utf8_length(text.data, text.n) != text.n)
		return al_json_fail(r->doc, node, err,
			"\"replacement\" is \"%.40s\", expected one character", m->replacement);
	if (!m->adds_prefix && m->scheme != SCHEME_ABSENT && m->scheme != SCHEME_NEVER)
		return al_json_fail(r->doc, node, err,
			"\"add_prefix_space\" is false, \"prepend_scheme\" isn't \"never\"");
	if (!m->adds_prefix)
		m->scheme = SCHEME_NEVER;
	return true;
}

static void add_metaspace(struct al_tokenizer_reader *r, const struct metaspace *m)
{
	const struct al_span text = al_span_of(m->replacement);

	al_steps_add(r->steps, r->arena,
		(struct al_step){.run = al_step_replace,
			.pattern = al_pattern_literal(r->arena, " "),
			.text = text});
	if (m->scheme != SCHEME_NEVER)
		al_steps_add(r->steps, r->arena,
			(struct al_step){.run = al_step_prefix,
				.text = text,
				.only_first = m->scheme == SCHEME_FIRST});
	if (m->splits)
		al_steps_add(r->steps, r->arena,
			(struct al_step){.run = al_step_split,
				.pattern = al_pattern_literal(r->arena, m->replacement),
				.behavior = AL_SPLIT_WITH_NEXT});
}

static bool read_metaspace(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const char *const schemes[] = {"always", "first", "never"};
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("replacement", TEXT, offsetof(struct metaspace, replacement)),
			.is_required = true},
		{AL_KEY("add_prefix_space", BOOLEAN, offsetof(struct metaspace, adds_prefix)),
			.fallback = 1},
		{AL_KEY("prepend_scheme", WORD, offsetof(struct metaspace, scheme)),
			.least = SCHEME_ALWAYS, AL_WORDS(schemes)},
		{AL_KEY("split", BOOLEAN, offsetof(struct metaspace, splits)), .fallback = 1},
		{AL_KEY("str_rep", BY, 0), .read = al_read_nothing},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields),
		.check = check_metaspace};
	struct metaspace metaspace = {0};

	if (!al_record_read(&r->source, &record, node, &metaspace, err))
		return false;
	add_metaspace(r, &metaspace);
	return true;
}

static bool read_split(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("pattern", BY, offsetof(struct al_step, pattern)), .read = al_read_pattern,
			.is_required = true},
		{AL_KEY("behavior", WORD, offsetof(struct al_step, behavior)),
			.words = al_behavior_names, .n_words = AL_N_BEHAVIORS, .is_required = true},
		{AL_KEY("invert", BOOLEAN, offsetof(struct al_step, is_inverted)),
			.is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct al_step step = {.run = al_step_split};

	if (!al_record_read(&r->source, &record, node, &step, err))
		return false;
	al_steps_add(r->steps, r->arena, step);
	return true;
}

static bool read_punctuation(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("behavior", WORD, 0), .words = al_behavior_names, .n_words = AL_N_BEHAVIORS,
			.fallback = AL_SPLIT_ISOLATED},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	unsigned behavior = 0;

	if (!al_record_read(&r->source, &record, node, &behavior, err))
		return false;
	add_split(r, punctuation, (enum al_behavior)behavior, false);
	return true;
}

static bool read_digits(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("individual_digits", BOOLEAN, 0), .is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	bool each = false;

	if (!al_record_read(&r->source, &record, node, &each, err))
		return false;
	add_split(r, "\\p{N}", each ? AL_SPLIT_ISOLATED : AL_SPLIT_CONTIGUOUS, false);
	return true;
}

static bool read_sequence(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err);

static const struct al_step_type parts[] = {
	{"BertPreTokenizer", read_bert},
	{"ByteLevel", read_byte_level},
	{"Digits", read_digits},
	{"Metaspace", read_metaspace},
	{"Punctuation", read_punctuation},
	{"Sequence", read_sequence},
	{"Split", read_split},
	{"Whitespace", read_whitespace},
	{"WhitespaceSplit", read_whitespace_split},
};

static bool read_sequence(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	return al_part_read_all(r, node, "pretokenizers", "pre-tokenizer", parts,
		sizeof(parts) / sizeof(*parts), err);
}

bool al_pre_tokenizer_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	return al_part_read(r, node, "pre-tokenizer", parts, sizeof(parts) / sizeof(*parts), err);
}
