/* Options of `compress`, read and checked against the method. */
#include "answer/compress.h"

#include "formats/format.h"
#include "linalg/cp.h"

enum { OF_VALUES, OF_KEYS, OF_BOTH, N_SIDES, BY_METHOD = -1 };
static const char *const sides[N_SIDES] = {"values", "keys", "both"};

static const struct al_option_row file_rows[] = {
	OPTION_TEXT(struct al_compress_words, file, "output", "FILE|FOLDER",
		"safetensors file to write, GGUF file of a GGUF source, or a new folder with the "
		"source's shards, index, config.json and tokenizer",
		.letter = 'o', .is_required = true),
	OPTION_END,
};

/* --quality: its name, and the --refit (on tokens: where there are any), --sweeps and --restarts
 * that it sets where these aren't given. */
#define QUALITIES(X) X(fast, auto, 20, 0) X(best, sequential, 2000, 5)
#define QUALITY_NAME(name, refit, sweeps, restarts) #name,
#define QUALITY_ROW(name, refit, sweeps, restarts) {#refit, sweeps, restarts},
#define QUALITY_REFIT(name, refit, sweeps, restarts) "; --quality " #name ": " #refit
#define QUALITY_SWEEPS(name, refit, sweeps, restarts) "; --quality " #name ": " #sweeps
#define QUALITY_RESTARTS(name, refit, sweeps, restarts) "; --quality " #name ": " #restarts

static const char *const quality_names[] = {QUALITIES(QUALITY_NAME)};
static const struct quality {
	const char *refit;
	int64_t n_sweeps, n_restarts;
} qualities[] = {QUALITIES(QUALITY_ROW)};
enum { N_QUALITIES = sizeof(qualities) / sizeof(*qualities) };

static const struct al_option_row compress_rows[] = {
	AL_SEED_ROW(struct al_compress_words, seed, 0),
	OPTION_TEXT(struct al_compress_words, method, "method", "NAME",
		"collab (shared projections), tucker (factored projections), qk (low-rank queries "
		"and keys per head), ov (low-rank values and outputs per head), drop (remove "
		"heads), merge (merge similar heads), kv-latent (one narrow projection for all "
		"heads' values or keys), gqa (groups of heads share keys and values), mhe-mul (one "
		"query, key and value, scaled per head) or identity (only a new format or folder)"),
	OPTION_TEXT(struct al_compress_words, calibration, "calibration", "DIR",
		"weight errors, those of quantization too, by the output of `calibrate`; drop and "
		"ov also refit W_O, merge the map into the remaining head"),
	OPTION_TEXT(struct al_compress_words, dtype, "dtype", "F",
		"number format of the result: f32, f16 or bf16, for a GGUF file also q8_0, q6_k, "
		"q5_k, q4_k, q5_1, q5_0, q4_1 or q4_0 (default: as in the source)"),
	OPTION_TEXT(struct al_compress_words, imatrix, "imatrix", "FILE",
		"weight errors of quantization by llama.cpp's importance matrix"),
	OPTION_CHOICE(struct al_compress_words, quality, "quality", "fast|best",
		"effort of the fit (see help compress advanced)", .words = quality_names,
		.n_words = N_QUALITIES, .fallback = -1),
	OPTION_CHOICE(struct al_compress_words, measure, "measure",
		"auto|weights|gain|diagonal|inputs|centered|weighed|outputs",
		"error metric: unweighted, or weighted by the norm's gain, by the calibrated "
		"inputs' mean squares, second moment or covariance, by the values' moment and W_O, "
		"or by the heads' outputs (default auto: the best available)",
		.words = al_measure_names, .n_words = AL_N_WEIGHTINGS, .is_advanced = true),
	OPTION_CHOICE(struct al_compress_words, refit, "refit", "auto|none|tokens|sequential",
		"how to refit W_O: from the calibration (auto, for drop and ov), not at all, or to "
		"the compressed heads' outputs on --tokens, in the original model or with earlier "
		"layers already compressed (sequential)" QUALITIES(QUALITY_REFIT),
		.words = al_refit_names, .n_words = AL_N_REFITS, .is_advanced = true),
	OPTION_CHOICE(struct al_compress_words, side, "of", "values|keys|both",
		"kv-latent: compress values (default) or keys; gqa: both (default), or only values "
		"(no model family runs that)",
		.words = sides, .n_words = N_SIDES, .fallback = BY_METHOD, .is_advanced = true),
	OPTION_TEXT(struct al_compress_words, budget, "budget", "P%[:cache]",
		"choose ranks that save this share of the parameters that the method changes, or "
		"of cache bytes per token, in all layers together"),
	OPTION_TEXT(struct al_compress_words, ranks, "rank", "N",
		"shared width, width of each head, or (gqa) number of key/value heads left; one "
		"for all layers, or a comma list (gqa without it: --heads N leaves N)"),
	OPTION_TEXT(struct al_compress_words, target_error, "target-error", "E",
		"choose the smallest rank with at most this relative error"),
	OPTION_COUNT(struct al_compress_words, sweeps, "sweeps", "N",
		"collab, mhe-mul: maximum number of least-squares sweeps (200" QUALITIES(
			QUALITY_SWEEPS) ")",
		.least = 1, .is_advanced = true),
	OPTION_COUNT(struct al_compress_words, restarts, "restarts", "N",
		"collab: further fits, each from the best so far with random changes (0" QUALITIES(
			QUALITY_RESTARTS) ")",
		.least = 1, .is_advanced = true),
	OPTION_FLAG(struct al_compress_words, force, "force",
		"write the result even if it isn't smaller than the source"),
	OPTION_TEXT(struct al_compress_words, drops, "drop", "LAYER:HEAD,...",
		"heads to remove (LAYER may be a module's name), or how many per layer (with "
		"--calibration or merge): those that the rest compensates best"),
	OPTION_TEXT(struct al_compress_words, for_whom, "for", "epfml",
		"include the score scale of epfml/collaborative-attention, 1/sqrt(R/n_heads)",
		.is_advanced = true),
	OPTION_END,
};

const struct al_option_group al_compress_groups[] = {{al_format_rows, 0}, {file_rows, 0},
	{al_display_rows, 0}, {al_only_rows, 0},
	{al_layout_rows, offsetof(struct al_compress_words, layout)},
	{al_module_rows, offsetof(struct al_compress_words, layout)}, {compress_rows, 0},
	{al_input_rows, offsetof(struct al_compress_words, input)}, {NULL, 0}};

static bool parse_whole(const char *text, const char *option, int64_t least, int64_t *out,
	struct al_error *err)
{
	size_t n = al_read_digits(text, out);

	if (n == 0 || text[n] || *out < least || *out > INT64_C(1) << 53)
		return al_fail(err, AL_EINPUT, "--%s %s: expected a whole number of at least %lld",
			option, text, (long long)least);
	return true;
}

static bool read_ranks(struct al_arena *arena, const struct al_compress_words *o,
	struct al_compress_options *out, struct al_error *err)
{
	const char *option = o->leaves_heads ? "heads" : "rank";

	if (!o->ranks)
		return true;
	char **items = al_option_split(arena, o->ranks, &out->n_ranks);
	int64_t *ranks = al_new_array(arena, int64_t, out->n_ranks);
	for (size_t i = 0; i < out->n_ranks; i++)
		if (!parse_whole(items[i], option, 1, &ranks[i], err))
			return false;
	out->ranks = ranks;
	return true;
}

/* "3:5": head 5 of layer 3; "decoder.3.cross:5" names the module. */
static bool read_drops(struct al_arena *arena, const char *text, struct al_compress_options *out,
	struct al_error *err)
{
	int64_t of_each;

	if (!text)
		return true;
	const size_t digits = al_read_digits(text, &of_each);
	if (digits > 0 && !text[digits]) {
		out->n_of_each = (size_t)al_most(of_each, 0);
		return of_each > 0
			|| al_fail(err, AL_EINPUT,
				"--drop %s: expected LAYER:HEAD or a number of heads", text);
	}
	struct al_named_head *heads;
	if (!al_option_heads(arena, "drop", text, false, &heads, &out->n_dropped, err))
		return false;
	struct al_dropped *dropped = al_new_array(arena, struct al_dropped, out->n_dropped);
	for (size_t i = 0; i < out->n_dropped; i++)
		dropped[i] = (struct al_dropped){heads[i].module, heads[i].head};
	out->dropped = dropped;
	return true;
}

static bool read_target(const char *text, double *out, struct al_error *err)
{
	return al_option_real("target-error", text, 0, 0, out, err)
		&& (!text || (*out > 0 && *out < 1)
			|| al_fail(err, AL_EINPUT,
				"--target-error %s: expected a number between 0 and 1", text));
}

static bool read_method(const char *method, const char *target, enum al_method *out,
	struct al_error *err)
{
	if (!method)
		return al_fail(err, AL_EINPUT,
			"pass --method collab, tucker, qk, drop, merge, ov, kv-latent, gqa, "
			"mhe-mul or identity");
	const int found = al_find_name(method, al_method_names, AL_N_METHODS);
	if (found < 0)
		return al_fail_unknown(err, "method", method, al_method_names, AL_N_METHODS);
	*out = (enum al_method)found;
	if (target && strcmp(target, "epfml") != 0)
		return al_fail(err, AL_EINPUT, "--for %s: expected epfml", target);
	return !target || *out == AL_METHOD_COLLAB
		|| al_fail(err, AL_EINPUT, "--for epfml only works with --method collab, not %s",
			method);
}

/* Only one option sets how much is left, and it is one that the method takes. */
static bool check_goal(const struct al_compress_options *o, struct al_error *err)
{
	const int n = (o->n_ranks > 0) + (o->target_error > 0) + (o->budget > 0);

	if (o->method == AL_METHOD_IDENTITY)
		return (n == 0 && o->n_dropped == 0 && o->n_of_each == 0 && !o->modules)
			|| al_fail(err, AL_EINPUT,
				"--method identity changes no weights; remove the rank, --drop and "
				"--modules");
	if (al_method_drops(o->method))
		return (n == 0 && (o->n_dropped > 0 || o->n_of_each > 0))
			|| al_fail(err, AL_EINPUT,
				"--method %s needs --drop LAYER:HEAD,... and takes no rank",
				al_method_names[o->method]);
	if (o->method == AL_METHOD_MHE_MUL)
		return n == 0
			|| al_fail(err, AL_EINPUT,
				"--method mhe-mul takes no rank: the shared projection is as wide "
				"as one head");
	return n == 1 || al_fail(err, AL_EINPUT, "pass one of --rank, --target-error and --budget");
}

/* "20%", ".2", "20%:cache" */
static bool read_budget(const char *text, struct al_compress_options *out, struct al_error *err)
{
	const char *end;

	if (!text)
		return true;
	const bool is_share = al_option_share(text, &out->budget, &end);
	out->budget_is_cache = is_share && strcmp(end, ":cache") == 0;
	return (is_share && (!*end || out->budget_is_cache))
		|| al_fail(err, AL_EINPUT,
			"--budget %s: expected a share to save between 0%% and 100%%, such as 20%% "
			"(of parameters) or 20%%:cache (of cache bytes per token)",
			text);
}

static bool is_refitted(enum al_method method)
{
	return al_method_is_of_values(method) || method == AL_METHOD_DROP;
}

/* What goes with some methods alone. */
static bool check_methods(const struct al_compress_words *o, enum al_method method,
	struct al_error *err)
{
	const bool is_identity = method == AL_METHOD_IDENTITY, is_gqa = method == AL_METHOD_GQA,
		   is_latent = method == AL_METHOD_LATENT, drops = al_method_drops(method),
		   is_of_values = al_method_is_of_values(method);
	const struct {
		bool is_wrong;
		const char *option, *value, *with;
	} rules[] = {
		{o->calibration && is_identity && !o->dtype, "calibration", "",
			"--dtype, or other methods than"},
		{o->measure != AL_MEASURE_AUTO && (drops || is_identity), "measure", "",
			"other methods than"},
		{o->measure > AL_MEASURE_CENTERED && !is_of_values, "measure ",
			al_measure_names[o->measure], "ov, kv-latent and gqa, not"},
		{o->side != BY_METHOD && !is_latent && !is_gqa, "of", "", "kv-latent and gqa, not"},
		{o->side == OF_KEYS && is_gqa, "of ", "keys", "kv-latent, not"},
		{o->side == OF_BOTH && is_latent, "of ", "both", "gqa, not"},
		{al_refit_runs((enum al_refit)o->refit) && !is_refitted(method), "refit", "",
			"drop, ov, kv-latent and gqa, not"},
		{o->drops && !drops && !is_identity, "drop", "", "--method drop or merge, not"},
		{o->restarts > 0 && method != AL_METHOD_COLLAB, "restarts", "",
			"--method collab, not"},
		{o->sweeps > 0 && !al_method_mixes(method), "sweeps", "",
			"--method collab or mhe-mul, not"},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].is_wrong)
			return al_fail(err, AL_EINPUT, "--%s%s only works with %s %s",
				rules[i].option, rules[i].value, rules[i].with,
				al_method_names[method]);
	return true;
}

static bool check_data(const struct al_compress_words *o, enum al_method method,
	struct al_error *err)
{
	if (o->drops && !strchr(o->drops, ':') && !o->calibration && method == AL_METHOD_DROP)
		return al_fail(err, AL_EINPUT,
			"--drop %s: name heads as LAYER:HEAD, or pass --calibration DIR to choose "
			"them",
			o->drops);
	if (al_refit_runs((enum al_refit)o->refit))
		return al_input_check(&o->input, err);
	if (al_input_is_given(&o->input) || o->input.sequences)
		return al_fail(err, AL_EINPUT,
			"--tokens, --text and --sample need --quality best, or --refit tokens or "
			"sequential");
	return o->measure != AL_MEASURE_OUTPUTS || method != AL_METHOD_LATENT || o->side != OF_KEYS
		|| al_fail(err, AL_EINPUT, "--measure outputs doesn't apply to keys");
}

/* A name that ends as another format's would be taken for one. */
static bool check_file(const char *file, struct al_error *err)
{
	for (size_t i = 1; al_formats[i]; i++)
		if (al_formats[i] != &al_format_gguf && al_ends_with(file, al_formats[i]->ending))
			return al_fail(err, AL_EINPUT,
				"-o %s: compress writes safetensors and GGUF; use FILE%s, FILE%s "
				"or "
				"a folder",
				file, al_formats[0]->ending, al_format_gguf.ending);
	return true;
}

/* One that compress writes; blocks need a file that has them. */
static bool read_dtype(const struct al_compress_words *o, const struct al_dtype **out,
	struct al_error *err)
{
	const bool is_gguf = o->file && al_ends_with(o->file, al_format_gguf.ending);
	struct al_names names;

	if (o->imatrix && !is_gguf)
		return al_fail(err, AL_EINPUT, "--imatrix needs -o FILE.gguf");
	if (!o->dtype)
		return true;
	*out = al_dtype_named(o->dtype);
	if (*out && (*out)->from_double && (*out)->block_elements > 1 && !is_gguf)
		return al_fail(err, AL_EINPUT, "--dtype %s needs -o FILE.gguf", o->dtype);
	if (*out && (*out)->from_double)
		return true;
	al_names_init(&names);
	for (size_t i = 0; al_dtype_at(i); i++)
		if (al_dtype_at(i)->from_double)
			al_names_add(&names, al_dtype_at(i)->name);
	return al_names_fail(&names, "--dtype", o->dtype, err);
}

static void apply_quality(struct al_compress_words *o, enum al_method method)
{
	if (o->quality < 0)
		return;
	const struct quality *quality = &qualities[o->quality];
	const enum al_refit refit = (enum al_refit)al_find_name(quality->refit, al_refit_names,
		AL_N_REFITS);
	if (o->sweeps == 0 && al_method_mixes(method))
		o->sweeps = quality->n_sweeps;
	if (o->restarts == 0 && method == AL_METHOD_COLLAB)
		o->restarts = quality->n_restarts;
	if (o->refit == AL_REFIT_AUTO && is_refitted(method)
		&& (al_input_is_given(&o->input) || !al_refit_runs(refit)))
		o->refit = (int)refit;
}

/* Where no other option sets how much gqa leaves, --heads N does. */
static void apply_heads(struct al_compress_words *o, enum al_method method)
{
	o->leaves_heads = method == AL_METHOD_GQA && o->layout.heads
		&& !strchr(o->layout.heads, ':') && !o->ranks && !o->target_error && !o->budget;
	if (o->leaves_heads) {
		o->ranks = o->layout.heads;
		o->layout.heads = NULL;
	}
}

bool al_compress_read(struct al_session *session, struct al_compress_words *o,
	struct al_compress_options *out, struct al_error *err)
{
	enum al_method method = AL_METHOD_IDENTITY;

	if (!read_method(o->method, o->for_whom, &method, err))
		return false;
	apply_quality(o, method);
	apply_heads(o, method);
	*out = (struct al_compress_options){
		.method = method,
		.for_epfml = o->for_whom != NULL,
		.modules = o->layout.modules,
		.must_gain = !o->force,
		.data = {.measure = (enum al_weighting)o->measure,
			.refit = (enum al_refit)o->refit},
		.effort = {.n_sweeps = o->sweeps > 0 ? (size_t)o->sweeps : AL_CP_SWEEPS,
			.n_restarts = (size_t)o->restarts,
			.seed = (uint64_t)o->seed},
	};
	if (!read_ranks(&session->arena, o, out, err)
		|| !read_drops(&session->arena, o->drops, out, err)
		|| !read_target(o->target_error, &out->target_error, err)
		|| !read_budget(o->budget, out, err) || !check_methods(o, out->method, err)
		|| !check_data(o, out->method, err) || !check_goal(out, err))
		return false;
	out->of_keys = o->side == OF_KEYS || o->side == OF_BOTH
		|| (o->side == BY_METHOD && out->method == AL_METHOD_GQA);
	out->must_gain = out->must_gain && out->method != AL_METHOD_IDENTITY;
	return read_dtype(o, &out->dtype, err) && check_file(o->file, err);
}
