/* Options: one table row each, from which parsing and help are derived. */
#include "commands/arguments.h"

#include <string.h>

struct option_info {
	const char *name;
	char letter; /* '\0': none */
	const char *placeholder; /* NULL: a flag */
	bool repeats;
	const char *help;
};

static const struct option_info infos[N_OPTIONS] = {
	[OPT_HELP] = {"help", 'h', NULL, false, "print this help"},
	[OPT_FORMAT] = {"format", 'f', "NAME", false, "text, json, csv, latex or markdown"},
	[OPT_OUTPUT] = {"output", 'o', "FILE", false, "write there; the format follows the ending"},
	[OPT_UNITS] = {"units", 0, "NAME", false, "what people read: iec (KiB), si (k, M) or raw"},
	[OPT_COLOR] = {"color", 0, "WHEN", false, "auto, always or never"},
	[OPT_QUIET] = {"quiet", 'q', NULL, false, "no progress, no notices"},
	[OPT_THREADS] = {"threads", 0, "N", false, "at most N threads; the answer is the same"},
	[OPT_SET] = {"set", 0, "KEY=VALUE", true, "give a symbol a value"},
	[OPT_BATCH] = {"batch", 0, "N", false, "sequences at a time (--set batch=N)"},
	[OPT_SEQ] = {"seq", 0, "N", false, "tokens of a sequence (--set seq=N)"},
	[OPT_VARIANT] = {"variant", 0, "NAME|FILE[:KEY=VALUE,...]", true,
		"an attention variant, changed if you like; \"all\" for the built-in ones"},
	[OPT_VARIANTS] = {"variants", 0, "A,B,C", true, "several variants by plain names"},
	[OPT_BASIS] = {"basis", 0, "KEY=VALUE", true,
		"a convention: output_projection=own|full|none, biases=true|false, roles=A,B, "
		"per=module|layer|model"},
	[OPT_RECIPE] = {"recipe", 0, "NAME", false, "a memory convention (list recipes)"},
	[OPT_DTYPE] = {"dtype", 0, "NAME", false,
		"of weights, or in `cache` of a cached element: f32, bf16 (default), fp8, q8_0, "
		"q4_k, mxfp4 ..."},
	[OPT_EXPLAIN] = {"explain", 0, NULL, false,
		"formula, substitution, result and source of each number"},
	[OPT_TENSORS] = {"tensors", 0, NULL, false, "a row for each tensor"},
	[OPT_BASELINE] = {"baseline", 0, "NAME", false, "the variant that savings compare with"},
	[OPT_SUBSTITUTE] = {"substitute", 0, "SYMBOL=FORMULA", true,
		"put a formula in a symbol's place"},
	[OPT_ORDER] = {"order", 0, "SYMBOL", false, "the order of growth in a symbol"},
	[OPT_AGAINST] = {"against", 0, "NAME", false,
		"the difference to this variant; in `audit` each head beside this checkpoint's"},
	[OPT_OVER] = {"over", 0, "SYMBOL=FROM:TO[:STEP]", true, "what to sweep; also SYMBOL=A,B,C"},
	[OPT_TIE] = {"tie", 0, "SYMBOL=FORMULA", true, "a symbol that follows the others"},
	[OPT_MEASURE] = {"measure", 0, "COLUMN", true,
		"parameters, weights, gradients, optimizer, activations, total, cache, cache_bytes "
		"or flops"},
	[OPT_FIGURE] = {"figure", 0, "FILE", false, "draw it too: .pdf, .svg or .png"},
	[OPT_LOG] = {"log", 0, NULL, false, "a logarithmic axis in the figure"},
	[OPT_HEADS] = {"heads", 0, "H[:KV]", false,
		"query heads and key/value heads, where no config says"},
	[OPT_LAYOUT] = {"layout", 0, "FILE", false,
		"a family file that says how tensors are named"},
	[OPT_MODULES] = {"modules", 0, "SELECTION", false, "only these: layers.0-5,encoder.*.self"},
	[OPT_NULL] = {"null", 0, "N", false,
		"draws of the null of independent heads (4; 0 for none)"},
	[OPT_TOP] = {"top", 0, "N", false, "pairs of heads to show (20; 0 for all)"},
	[OPT_SEED] = {"seed", 0, "N", false, "of the random draws (1)"},
	[OPT_CENTER] = {"center", 0, NULL, false, "take the mean over a head's dimensions off"},
	[OPT_FOLD_NORMS] = {"fold-norms", 0, NULL, false,
		"multiply the preceding norm's scale into W_Q, W_K, W_V"},
	[OPT_ONLY] = {"only", 0, "A,B", false, "only these tables"},
	[OPT_TABLES] = {"tables", 0, "DIR", false, "write every table there, and the raw values"},
	[OPT_FIGURES] = {"figures", 0, "DIR", false, "draw there"},
	[OPT_ACROSS] = {"across", 0, NULL, false,
		"pairs of heads of different modules too, with composition scores"},
	[OPT_OFFSET] = {"offset", 0, "T", false,
		"rotary models: W_Q W_K^T of a query T tokens behind its key (0)"},
	[OPT_COVARIANCE] = {"covariance", 0, "FILE", false,
		"second moment of the inputs, .npy (D x D), or a folder of MODULE.npy: weights as "
		"inputs use them"},
	[OPT_SOURCE] = {"source", 0, "NAME", false, "print a built-in's JSON, to copy"},
	[OPT_ACTIVE] = {"active", 0, NULL, false,
		"of experts, count too those that work on one token"},
	[OPT_COUNTS] = {"counts", 0, NULL, false,
		"the counts that are often confused: without embeddings, stored, tied, buffers, "
		"scales"},
	[OPT_VALUES] = {"values", 0, NULL, false,
		"read all numbers: smallest, largest, mean, not finite"},
	[OPT_WHOLE] = {"whole", 0, NULL, false, "the whole model, also where variants are named"},
	[OPT_PART] = {"part", 0, "A,B,C", false,
		"only these parts: embedding, attention, feed_forward, norm, other, head; layers: "
		"nothing "
		"outside of the layers"},
	[OPT_ZERO] = {"zero", 0, "STAGE", false,
		"ZeRO: 1 shares out the optimizer, 2 gradients too, 3 weights too"},
	[OPT_TP] = {"tp", 0, "N", false, "tensor-parallel devices"},
	[OPT_PP] = {"pp", 0, "N", false, "pipeline stages"},
	[OPT_INTERLEAVE] = {"interleave", 0, "M", false,
		"M blocks of layers on each pipeline stage, taken in turn"},
	[OPT_DP] = {"dp", 0, "N", false, "data-parallel devices"},
	[OPT_CP] = {"cp", 0, "N", false, "context-parallel devices"},
	[OPT_EP] = {"ep", 0, "N", false, "expert-parallel devices, among the data-parallel ones"},
	[OPT_SP] = {"sp", 0, NULL, false, "sequence parallelism beside tensor parallelism"},
	[OPT_RECOMPUTE] = {"recompute", 0, "WHAT", false,
		"none; selective (nothing of token x token is kept); full (only the layers' inputs "
		"are)"},
	[OPT_ATTENTION] = {"attention", 0, "KERNEL", false,
		"eager or flash; default: the recipe's"},
	[OPT_INFERENCE] = {"inference", 0, NULL, false,
		"weights, cache and one forward instead of training"},
	[OPT_CACHE_DTYPE] = {"cache-dtype", 0, "NAME", false, "of a cached element (default bf16)"},
	[OPT_MEMORY] = {"memory", 0, "SIZE", false,
		"what a device holds: 80GiB, 24GB, a number of bytes"},
	[OPT_SOLVE] = {"solve", 0, "SYMBOL", false,
		"what may grow: batch (default), seq, n_layers, any symbol"},
	[OPT_MATCH] = {"match", 0, "parameters=VARIANT", false,
		"the model with as many parameters as with this variant"},
	[OPT_METHOD] = {"method", 0, "NAME", false,
		"collab (shared projections), tucker (factored), truncate (per head) or drop "
		"(heads)"},
	[OPT_RANK] = {"rank", 0, "N", false,
		"shared width, or width of each head; a list has one each module"},
	[OPT_TARGET_ERROR] = {"target-error", 0, "E", false,
		"the smallest rank with at most this relative error"},
	[OPT_TARGET_PARAMETERS] = {"target-parameters", 0, "N", false,
		"the largest rank with at most so many query and key parameters a module"},
	[OPT_DROP] = {"drop", 0, "LAYER:HEAD,...", false,
		"heads to leave out; a module's name may stand for LAYER"},
	[OPT_FOR] = {"for", 0, "epfml", false,
		"fold in the score scale of epfml/collaborative-attention, 1/sqrt(R/n_heads)"},
	[OPT_FIGURES_ONLY] = {"no-tables", 0, NULL, false, "write the files, print no tables"},
};

static bool is_allowed(option_set allowed, int option)
{
	return (allowed & OPTION(option)) != 0;
}

static bool fail_unknown_option(const char *name, option_set allowed, struct al_error *err)
{
	const char *names[N_OPTIONS];
	size_t n = 0;

	for (int i = 0; i < N_OPTIONS; i++)
		if (is_allowed(allowed, i))
			names[n++] = infos[i].name;
	return al_fail_unknown(err, "option", name, names, n);
}

static int find_long(const char *name, size_t length)
{
	for (int i = 0; i < N_OPTIONS; i++)
		if (strncmp(infos[i].name, name, length) == 0 && infos[i].name[length] == '\0')
			return i;
	return -1;
}

static int find_letter(char letter)
{
	for (int i = 0; i < N_OPTIONS; i++)
		if (infos[i].letter && infos[i].letter == letter)
			return i;
	return -1;
}

static bool add_value(struct al_arena *arena, struct arguments *out, int option, const char *value,
	struct al_error *err)
{
	struct option_values *values = &out->options[option];

	if (values->n > 0 && !infos[option].repeats)
		return al_fail(err, AL_EINPUT, "option --%s is given twice", infos[option].name);
	values->items = al_grow(arena, values->items, values->n, &values->room,
		sizeof(*values->items));
	values->items[values->n++] = value;
	return true;
}

struct reader {
	struct al_arena *arena;
	int argc, next;
	char **argv;
	option_set allowed;
	struct arguments *out;
};

/* `value`: what stood behind "=" or the letter, or NULL. */
static bool take_option(struct reader *r, int option, const char *value, struct al_error *err)
{
	if (!infos[option].placeholder)
		return value
			? al_fail(err, AL_EINPUT, "option --%s takes no value", infos[option].name)
			: add_value(r->arena, r->out, option, NULL, err);
	if (!value && r->next < r->argc)
		value = r->argv[r->next++];
	if (!value)
		return al_fail(err, AL_EINPUT, "option --%s needs a value: %s", infos[option].name,
			infos[option].placeholder);
	return add_value(r->arena, r->out, option, value, err);
}

static bool take_long(struct reader *r, const char *text, struct al_error *err)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);
	int option = find_long(text, length);

	if (option < 0 || !is_allowed(r->allowed, option))
		return fail_unknown_option(al_strndup(r->arena, text, length), r->allowed, err);
	return take_option(r, option, equals ? equals + 1 : NULL, err);
}

static bool take_letter(struct reader *r, const char *text, struct al_error *err)
{
	int option = find_letter(text[0]);

	if (option < 0 || !is_allowed(r->allowed, option))
		return fail_unknown_option(al_strndup(r->arena, text, 1), r->allowed, err);
	return take_option(r, option, text[1] ? text + 1 : NULL, err);
}

bool arguments_parse(struct al_arena *arena, int argc, char **argv, option_set allowed,
	struct arguments *out, struct al_error *err)
{
	struct reader r = {.arena = arena,
		.argc = argc,
		.argv = argv,
		.allowed = allowed,
		.out = out};
	bool only_words = false;

	*out = (struct arguments){.words = al_new_array(arena, const char *, (size_t)argc + 1)};
	while (r.next < argc) {
		const char *text = argv[r.next++];
		if (!only_words && strcmp(text, "--") == 0)
			only_words = true;
		else if (only_words || text[0] != '-' || text[1] == '\0')
			out->words[out->n_words++] = text;
		else if (text[1] == '-' ? !take_long(&r, text + 2, err)
					: !take_letter(&r, text + 1, err))
			return false;
	}
	return true;
}

bool is_given(const struct arguments *arguments, enum option option)
{
	return arguments->options[option].n > 0;
}

const char *option_value(const struct arguments *arguments, enum option option,
	const char *fallback)
{
	return is_given(arguments, option) ? arguments->options[option].items[0] : fallback;
}

const char *option_name(enum option option)
{
	return infos[option].name;
}

bool option_count(const struct arguments *arguments, enum option option, int64_t fallback,
	int64_t least, int64_t *out, struct al_error *err)
{
	const char *text = option_value(arguments, option, NULL);
	int64_t value = 0;

	*out = fallback;
	if (!text)
		return true;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9' || value > INT64_C(1) << 40)
			value = -1;
		if (value < 0)
			break;
		value = 10 * value + (*p - '0');
	}
	if (!*text || value < least)
		return al_fail(err, AL_EINPUT, "--%s %s: expected a whole number of at least %lld",
			infos[option].name, text, (long long)least);
	*out = value;
	return true;
}

/* Adds words up to column 80, each further line indented. */
static void add_wrapped(struct al_text *out, const char *text, size_t column, size_t indent)
{
	while (*text) {
		size_t n = strcspn(text, " ");
		if (column + n + 1 > 79) {
			al_text_add(out, "\n");
			al_text_add_repeated(out, ' ', indent);
			column = indent;
		} else if (column > indent) {
			al_text_add(out, " ");
			column++;
		}
		al_text_add_bytes(out, text, n);
		column += n;
		text += n + strspn(text + n, " ");
	}
	al_text_add(out, "\n");
}

void arguments_help(option_set allowed, struct al_text *out)
{
	enum { INDENT = 26 };

	for (int i = 0; i < N_OPTIONS; i++) {
		if (!is_allowed(allowed, i))
			continue;
		size_t before = out->length;
		al_text_add(out, "  ");
		if (infos[i].letter)
			al_text_addf(out, "-%c, ", infos[i].letter);
		al_text_addf(out, "--%s", infos[i].name);
		if (infos[i].placeholder)
			al_text_addf(out, " %s", infos[i].placeholder);
		size_t column = out->length - before;
		if (column + 2 > INDENT) {
			al_text_add(out, "\n");
			column = 0;
		}
		al_text_add_repeated(out, ' ', INDENT - column);
		add_wrapped(out, infos[i].help, INDENT, INDENT);
	}
}
