/* "pre_tokenizer" of tokenizer.json: the pieces that a text is split into before a model sees it.
 *= huggingface/tokenizers, tokenizers/src/pre_tokenizers */
#include "model/tokenize/internal.h"

#define AT(member) offsetof(struct al_text_part, member)
#define SPLIT(pattern, what) \
	{ \
		.run = al_step_split, .regex = (pattern), .behavior = AL_SPLIT_##what \
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

#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"

/*= openai/gpt-2, src/encoder.py */
const struct al_step al_gpt2_split = SPLIT("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+"
					   "| ?[^\\p{White_Space}\\p{L}\\p{N}]+"
					   "|\\p{White_Space}+(?!\\P{White_Space})"
					   "|\\p{White_Space}+",
	ISOLATED);

#define BERT \
	{ \
		SPLIT("\\p{White_Space}", REMOVED), SPLIT(punctuation, ISOLATED) \
	}
const struct al_step al_bert_splits[AL_N_BERT_SPLITS] = BERT;

/* ---- parts with settings ---- */

static const struct al_field byte_level_fields[] = {
	{AL_KEY("add_prefix_space", BOOLEAN, AT(adds_blank)), .is_required = true},
	AL_IGNORED("trim_offsets"),
	{AL_KEY("use_regex", BOOLEAN, AT(splits)), .fallback = 1},
};

static bool add_byte_level(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	(void)err;
	if (part->adds_blank)
		al_steps_add(r->steps, r->arena,
			(struct al_step){.run = al_step_prefix, .text = " "});
	if (part->splits)
		al_steps_add(r->steps, r->arena, al_gpt2_split);
	al_steps_add(r->steps, r->arena, (struct al_step){.run = al_step_bytes});
	return true;
}

enum scheme { SCHEME_ABSENT, SCHEME_ALWAYS, SCHEME_FIRST, SCHEME_NEVER };

static const char *const schemes[] = {"always", "first", "never"};

static const struct al_field metaspace_fields[] = {
	{AL_KEY("replacement", TEXT, AT(replacement)), .is_required = true},
	{AL_KEY("add_prefix_space", BOOLEAN, AT(adds_blank)), .fallback = 1},
	{AL_KEY("prepend_scheme", WORD, AT(scheme)), .least = SCHEME_ALWAYS, AL_WORDS(schemes)},
	{AL_KEY("split", BOOLEAN, AT(splits)), .fallback = 1},
	AL_IGNORED("str_rep"),
};

static bool check_metaspace(const struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	const struct al_span text = al_span_of(part->replacement);

	if (text.n == 0 || al_utf8_length(text.data, text.n) != text.n)
		return al_json_fail(r->doc, part->node, err,
			"\"replacement\" is \"%.40s\", expected one character", text.data);
	return part->adds_blank || part->scheme == SCHEME_ABSENT || part->scheme == SCHEME_NEVER
		|| al_json_fail(r->doc, part->node, err,
			"\"add_prefix_space\" is false, \"prepend_scheme\" isn't \"never\"");
}

static bool add_metaspace(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	const char *text = part->replacement;

	if (!check_metaspace(r, part, err))
		return false;
	al_steps_add(r->steps, r->arena,
		(struct al_step){.run = al_step_replace, .regex = " ", .text = text});
	if (part->adds_blank && part->scheme != SCHEME_NEVER)
		al_steps_add(r->steps, r->arena,
			(struct al_step){.run = al_step_prefix,
				.text = text,
				.only_first = part->scheme == SCHEME_FIRST});
	if (part->splits)
		al_steps_add(r->steps, r->arena,
			(struct al_step){.run = al_step_split,
				.pattern = al_pattern_literal(r->arena, text),
				.behavior = AL_SPLIT_WITH_NEXT});
	return true;
}

static const struct al_field split_fields[] = {
	{AL_KEY("pattern", BY, AT(step.pattern)), .read = al_read_pattern, .is_required = true},
	{AL_KEY("behavior", WORD, AT(step.behavior)), .words = al_behavior_names,
		.n_words = AL_N_BEHAVIORS, .is_required = true},
	{AL_KEY("invert", BOOLEAN, AT(step.is_inverted)), .is_required = true},
};

static const struct al_field punctuation_fields[] = {
	{AL_KEY("behavior", WORD, AT(step.behavior)), .words = al_behavior_names,
		.n_words = AL_N_BEHAVIORS, .fallback = AL_SPLIT_ISOLATED},
};

static const struct al_field digits_fields[] = {
	{AL_KEY("individual_digits", BOOLEAN, AT(each)), .is_required = true},
};

static bool add_digits(struct al_tokenizer_reader *r, const struct al_text_part *part,
	struct al_error *err)
{
	struct al_step step = SPLIT("\\p{N}", CONTIGUOUS);

	(void)err;
	if (part->each)
		step.behavior = AL_SPLIT_ISOLATED;
	al_steps_add(r->steps, r->arena, step);
	return true;
}

static const struct al_part_type types[] = {
	{"BertPreTokenizer", .steps = BERT},
	{"ByteLevel", AL_FIELDS(byte_level_fields), .add = add_byte_level},
	{"Digits", AL_FIELDS(digits_fields), .add = add_digits},
	{"Metaspace", AL_FIELDS(metaspace_fields), .add = add_metaspace},
	{"Punctuation", AL_FIELDS(punctuation_fields), .steps = {SPLIT(punctuation, ISOLATED)}},
	{"Split", AL_FIELDS(split_fields), .steps = {{.run = al_step_split}}},
	{"Whitespace",
		.steps = {{.run = al_step_split,
			.regex = "[" WORD "]+|[^" WORD "\\p{White_Space}]+",
			.is_inverted = true}}},
	{"WhitespaceSplit", .steps = {SPLIT("\\p{White_Space}", REMOVED)}},
};

const struct al_part_kind al_pre_tokenizers = {"pre-tokenizer", "pretokenizers", types,
	sizeof(types) / sizeof(*types)};
