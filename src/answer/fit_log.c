/* fit --log: what the log of an engine prints of memory next to what is counted, and the setting
 * that explains a difference. The log's own settings hold where the command line gives none. */
#include "answer/capacity.h"
#include "answer/fit.h"
#include "catalog/history.h"
#include "report/claim.h"

enum { MOST_LOG = 16 << 20 };

/* What a log prints, by the names in the engines' files. */
enum figure {
	WEIGHTS,
	ACTIVATIONS,
	OVERHEAD,
	CACHE,
	STATES,
	MEMORY,
	TOKENS,
	CONCURRENCY,
	N_FIGURES
};
static const char *const figures[N_FIGURES] = {"weights", "activations", "overhead", "cache",
	"states", "cache_memory", "cache_tokens", "concurrency"};
static const char *const titles[N_FIGURES] = {"weights", "activations", "runtime and graphs",
	"KV cache", "recurrent states", "memory for the cache", "tokens in that memory",
	"longest sequences in that memory"};
static const int states[] = {[WEIGHTS] = AL_STATE_WEIGHTS,
	[ACTIVATIONS] = AL_STATE_ACTIVATIONS,
	[OVERHEAD] = AL_STATE_OVERHEAD,
	[CACHE] = AL_STATE_CACHE,
	[STATES] = AL_STATE_STATES};
enum { N_STATE_FIGURES = sizeof(states) / sizeof(*states) };

/* By what is counted, from the least to the most that the log's rounding allows; NULL: not
 * known. */
struct counted {
	mpq_srcptr value, least, most;
};

struct comparison {
	struct al_session *session;
	const struct al_engine *engine; /* its newest version */
	struct al_log_facts facts;
	const char **words; /* the command that the log amounts to, without --log */
	size_t n_words, room;
	const char *version; /* of the log; NULL: there is none, or its rules are known */
	int64_t n_compared, n_equal, n_explained; /* figures */
};

/* ---- the log ---- */

static const struct al_log_fact *fact_of(const struct comparison *c, enum figure figure)
{
	const struct al_log_fact *fact = al_log_find(&c->facts, figures[figure]);

	return fact && fact->value ? fact : NULL;
}

static bool try_engine(struct comparison *c, const char *name, const char *text,
	struct al_error *err)
{
	const struct al_engine *engine;
	struct al_log_facts facts;

	if (!al_catalog_engine(c->session->catalog, name, &engine, err)
		|| !al_engine_log_read(&c->session->arena, engine, text, &facts, err))
		return false;
	if (facts.n_lines > c->facts.n_lines) {
		c->facts = facts;
		c->engine = engine;
	}
	return true;
}

/* The engine that is asked for, or the one with most lines in the log. */
static bool find_engine(struct comparison *c, const char *asked, const char *text,
	struct al_error *err)
{
	const struct al_embedded_list *all = al_catalog_files(AL_CATALOG_ENGINES);
	const char *version;

	if (asked && !try_engine(c, al_version_cut(&c->session->arena, asked, &version), text, err))
		return false;
	for (size_t i = 0; !asked && i < all->n_files; i++)
		if (!try_engine(c, all->files[i].name, text, err))
			return false;
	return c->engine
		|| al_fail(err, AL_EINPUT, "found no line about memory that %s prints",
			asked ? asked : "an engine of `list engines`");
}

static bool read_log(struct comparison *c, const struct al_fit_options *o, struct al_error *err)
{
	AL_TEXT(text);

	return (al_file_read(&text, o->log, MOST_LOG, err)
		       && find_engine(c, o->asked.engine, text.data, err))
		|| al_in(err, "--log %s", o->log);
}

/* ---- the command ---- */

static void add_word(struct comparison *c, const char *word)
{
	struct al_arena *arena = &c->session->arena;

	*AL_APPEND(arena, c->words, c->n_words, c->room) = word;
}

/* "--tp=8", of an option that `fit` has, and that isn't given; "--swa-full". */
static void add_option(struct comparison *c, const struct al_log_fact *fact)
{
	al_each_option (group, row, al_command_fit.options)
		if (strcmp(row->name, fact->name + 2) == 0
			&& !al_session_is_given(c->session, row->name))
			add_word(c,
				row->kind == OPTION_IS_FLAG ? fact->name
							    : al_format(&c->session->arena, "%s=%s",
								    fact->name, fact->text));
}

/* The longest sequence that the engine is started for is what is asked about. */
static void add_longest(struct comparison *c)
{
	const struct al_log_fact *longest = al_log_find(&c->facts, "--max-model-len");

	if (longest && !al_session_is_given(c->session, "seq") && !al_log_find(&c->facts, "--seq"))
		add_word(c, al_format(&c->session->arena, "--seq=%s", longest->text));
}

static void add_engine(struct comparison *c)
{
	const struct al_log_fact *version = al_log_find(&c->facts, "version");
	const struct al_engine *engine;
	struct al_error unknown = {0};
	const char *name = version
		? al_format(&c->session->arena, "%s@%s", c->engine->name, version->text)
		: c->engine->name;

	if (!al_catalog_engine(c->session->catalog, name, &engine, &unknown)) {
		c->version = version->text;
		name = c->engine->name;
	}
	add_word(c, al_format(&c->session->arena, "--engine=%s", name));
}

/* The model of the command line, or that of the log: "org/name", or the last parts of its path. */
static bool find_model(const struct comparison *c, const struct al_fit_options *o, const char **out,
	struct al_error *err)
{
	const struct al_log_fact *model = al_log_find(&c->facts, "model");
	const char *word = model ? model->text : "";
	struct al_error unknown = {0};

	*out = al_session_word(c->session, 0);
	while (*word && !*out) {
		if (al_ask_request(c->session, &o->asked, word, false, &unknown))
			*out = word;
		word += strcspn(word, "/");
		word += *word == '/';
	}
	return *out
		|| al_fail(err, AL_EINPUT,
			"--log %s: %s%s; name it or its config.json: attnledger fit MODEL --log %s",
			o->log,
			model ? "attnledger knows no model by its name, " : "found no model in it",
			model ? model->text : "", o->log);
}

static bool make_command(struct comparison *c, const struct al_fit_options *o, struct al_error *err)
{
	const char *model;

	const struct al_texts given = al_options_texts(al_command_fit.options, o,
		&c->session->arena);

	if (!find_model(c, o, &model, err))
		return false;
	add_word(c, model);
	for (size_t i = 0; i < given.n; i++)
		if (strncmp(given.items[i], "--log=", 6) != 0)
			add_word(c, given.items[i]);
	if (!o->asked.engine)
		add_engine(c);
	for (size_t i = 0; i < c->facts.n; i++)
		if (strncmp(c->facts.items[i].name, "--", 2) == 0)
			add_option(c, &c->facts.items[i]);
	add_longest(c);
	return true;
}

/* ---- what is counted ---- */

static bool count_states(struct al_fit *f, struct counted out[N_FIGURES], struct al_error *err)
{
	AL_EXACT(total);
	if (!al_fit_hold(f, total, err))
		return false;
	for (int i = 0; i < N_STATE_FIGURES; i++)
		out[i].value = al_exact_copy(&f->session->arena, f->states[states[i]]);
	return true;
}

/* By the memory in the log, which its last digit leaves open; else by what is counted. */
static bool find_capacity(const struct comparison *c, struct al_fit *f, mpq_srcptr memory, int part,
	struct al_capacity *out, struct al_error *err)
{
	const struct al_log_fact *fact = fact_of(c, MEMORY);

	AL_EXACT(bytes);
	mpq_set(bytes, fact ? fact->value : memory);
	if (fact && part < 0)
		mpq_sub(bytes, bytes, fact->half);
	if (fact && part > 0)
		mpq_add(bytes, bytes, fact->half);
	return al_capacity_find(f->ledger, f->request, &f->inference, bytes, out, err);
}

static mpq_srcptr concurrency(struct al_arena *arena, const struct al_capacity *capacity)
{
	return al_exact_scaled(arena, al_exact_from_int(arena, capacity->blocks), 1,
		capacity->blocks_of_longest);
}

static bool count_capacity(const struct comparison *c, struct al_fit *f,
	struct counted out[N_FIGURES], struct al_error *err)
{
	struct al_arena *arena = &f->session->arena;
	struct al_capacity at[3];

	AL_EXACT(memory);
	if (!al_capacity_is_known(f->request) || (!f->gpu.usable && !fact_of(c, MEMORY)))
		return true;
	if (f->gpu.usable) {
		if (!al_capacity_left(f->ledger, f->request, &f->inference, f->budget, memory, err))
			return false;
		out[MEMORY].value = al_exact_copy(arena, memory);
	}
	for (int i = 0; i < 3; i++)
		if (!find_capacity(c, f, memory, i - 1, &at[i], err))
			return false;
	out[TOKENS] = (struct counted){al_exact_from_int(arena, at[1].tokens),
		al_exact_from_int(arena, at[0].tokens), al_exact_from_int(arena, at[2].tokens)};
	out[CONCURRENCY] = (struct counted){concurrency(arena, &at[1]), concurrency(arena, &at[0]),
		concurrency(arena, &at[2])};
	return true;
}

static bool count_figures(const struct comparison *c, struct al_fit *f,
	struct counted out[N_FIGURES], struct al_error *err)
{
	const char *device = f->options->devices.device;
	struct al_gpu gpu = {0};
	int64_t n;

	f->symbol = "";
	if (device && !al_gpu_parse(&f->session->arena, device, &gpu, &n, err))
		return al_in(err, "--device");
	return al_fit_begin(f, &f->options->devices, err) && al_fit_take_device(f, &gpu, err)
		&& count_states(f, out, err) && count_capacity(c, f, out, err);
}

static bool are_of_one_option(const char *a, const char *b)
{
	const size_t length = strcspn(a, "=");

	return length == strcspn(b, "=") && strncmp(a, b, length) == 0;
}

/* The command's words, with `other` instead of those of its option; NULL: as they are. */
static char **change_words(const struct comparison *c, const char *other, int *n)
{
	struct al_arena *arena = &c->session->arena;
	char **words = al_arena_alloc(arena, c->n_words + 1, sizeof(*words));

	*n = 0;
	for (size_t i = 0; i < c->n_words; i++)
		if (!other || !are_of_one_option(c->words[i], other))
			words[(*n)++] = al_strdup(arena, c->words[i]);
	if (other)
		words[(*n)++] = al_strdup(arena, other);
	return words;
}

static bool count(const struct comparison *c, const char *other, struct counted out[N_FIGURES],
	struct al_fit *f, struct al_error *err)
{
	struct al_arena *arena = &c->session->arena;
	struct al_fit_options *options = al_new(arena, struct al_fit_options);
	struct al_command_line line = {0};
	int n;
	char **words = change_words(c, other, &n);

	for (int i = 0; i < N_FIGURES; i++)
		out[i] = (struct counted){0};
	if (!al_command_line_split(&line, arena, n, words, al_command_fit.options, err)
		|| !al_command_line_read(&line, arena, al_command_fit.options, options, err))
		return false;
	*f = (struct al_fit){.session = c->session, .options = options};
	for (int i = 0; i < AL_N_STATES; i++)
		f->states[i] = al_exact_new(arena);
	f->request = al_ask_request(c->session, &options->asked, line.words[0], false, err);
	return f->request && count_figures(c, f, out, err);
}

/* ---- differences ---- */

/* Do the intervals of the log's rounding and of what is counted meet? */
static bool agrees(const struct al_log_fact *fact, const struct counted *counted)
{
	mpq_srcptr least = counted->least ? counted->least : counted->value,
		   most = counted->most ? counted->most : counted->value;

	AL_EXACT(end);
	mpq_sub(end, fact->value, fact->half);
	const bool reaches = mpq_cmp(most, end) >= 0;
	mpq_add(end, fact->value, fact->half);
	return reaches && mpq_cmp(least, end) <= 0;
}

static bool explains(const struct comparison *c, enum figure figure, const char *other)
{
	struct counted counted[N_FIGURES];
	struct al_error refused = {0};
	struct al_fit f;

	return count(c, other, counted, &f, &refused) && counted[figure].value
		&& agrees(fact_of(c, figure), &counted[figure]);
}

static void add_cause(const struct comparison *c, enum figure figure, const char *other,
	struct al_text *out)
{
	if (explains(c, figure, other))
		al_text_addf(out, "%s%s", out->length ? ", " : "", other);
}

/* The other settings and versions with each of which a figure agrees; NULL: there is none. */
static const char *find_causes(const struct comparison *c, enum figure figure)
{
	struct al_arena *arena = &c->session->arena;
	const struct al_engine *engine = c->engine;

	AL_TEXT(causes);
	for (size_t i = 0; i < engine->causes.n; i++)
		add_cause(c, figure, engine->causes.items[i], &causes);
	for (size_t i = 0; causes.length == 0 && i < engine->versions.n; i++)
		add_cause(c, figure,
			al_format(arena, "--engine=%s@%s", engine->name, engine->versions.items[i]),
			&causes);
	return causes.length ? al_strdup(arena, causes.data) : NULL;
}

/* ---- the answer ---- */

struct record {
	const char *figure;
	int64_t line;
	mpq_srcptr printed, counted;
	double difference; /* in percent of what is printed */
	const char *agrees, *with;
};

#define FIELDS(show) \
	{AL_SHOW_KEY(struct record, figure, "Figure")}, \
		{AL_SHOW_WHOLE(struct record, line, "Line")}, \
		{show(struct record, printed, "In the log")}, \
		{show(struct record, counted, "Counted")}, \
		{AL_SHOW(struct record, difference, "Difference, %", .digits = 2)}, \
		{AL_SHOW(struct record, agrees, "Within rounding")}, \
		{AL_SHOW(struct record, with, "Agrees with")}, AL_FIELDS_END

static const struct al_table_field memory_fields[] = {FIELDS(AL_SHOW_BYTES)},
				   capacity_fields[] = {FIELDS(AL_SHOW_COUNT)};

static void add_figure(struct comparison *c, struct al_table *table, enum figure figure,
	const struct counted *counted)
{
	const struct al_log_fact *fact = fact_of(c, figure);

	if (!fact)
		return;
	struct record record = {.figure = titles[figure],
		.line = fact->line,
		.printed = fact->value,
		.counted = counted->value,
		.difference = NAN};
	if (counted->value) {
		const bool is_equal = agrees(fact, counted);
		if (mpq_sgn(fact->value) != 0)
			record.difference = 100
				* (mpq_get_d(counted->value) / mpq_get_d(fact->value) - 1);
		record.agrees = is_equal ? "yes" : "no";
		record.with = is_equal ? NULL : find_causes(c, figure);
		c->n_compared++;
		c->n_equal += is_equal;
		c->n_explained += record.with != NULL;
	}
	al_table_add_record(table, &record);
}

static const char *command_text(const struct comparison *c)
{
	AL_TEXT(text);

	for (size_t i = 0; i < c->n_words; i++)
		al_text_addf(&text, " %s", al_shell_word(&c->session->arena, c->words[i]));
	return al_strdup(&c->session->arena, text.data);
}

static void add_notes(const struct comparison *c, struct al_table *table)
{
	al_table_note(table, "settings of the log: attnledger fit%s", command_text(c));
	const struct al_log_fact *model = al_log_find(&c->facts, "model");
	if (model)
		al_table_note(table, "model in the log: %s", model->text);
	if (c->version)
		al_table_note(table, "the log is of version %s; the rules are those of version %s",
			c->version, c->engine->version);
	if (fact_of(c, MEMORY))
		al_table_note(table,
			"tokens and sequences are counted for the memory that the log prints");
}

static bool has_any(const struct comparison *c, int first, int end)
{
	for (int i = first; i < end; i++)
		if (fact_of(c, (enum figure)i))
			return true;
	return false;
}

/* A table of the figures that the log has; NULL: it has none of these. */
static struct al_table *add_table(struct comparison *c, int first, int end,
	const struct counted counted[N_FIGURES])
{
	if (!has_any(c, first, end))
		return NULL;
	struct al_table *table = first == WEIGHTS
		? al_session_table(c->session, "memory", memory_fields, 0,
			"Memory of one device: the log of %s and what is counted", c->engine->title)
		: al_session_table(c->session, "capacity", capacity_fields, 0,
			"What the memory for the cache holds: the log of %s and what is counted",
			c->engine->title);
	for (int i = first; i < end; i++)
		add_figure(c, table, (enum figure)i, &counted[i]);
	return table;
}

static const char *say(const struct comparison *c, const struct al_fit *f)
{
	struct al_arena *arena = &c->session->arena;

	if (c->n_compared == 0)
		return al_format(arena, "No figure in the log of %s can be compared for %s.",
			al_claim_name(arena, "engine", c->engine->title),
			al_claim_name(arena, "model", f->request->title));
	return al_format(arena,
		"%s of %s figures in the log of %s agree with what is counted for %s%s.",
		al_claim_count(arena, "equal", c->n_equal),
		al_claim_count(arena, "compared", c->n_compared),
		al_claim_name(arena, "engine", c->engine->title),
		al_claim_name(arena, "model", f->request->title),
		c->n_explained ? al_format(arena, ", %s more with another setting",
			al_claim_count(arena, "explained", c->n_explained))
			       : "");
}

static bool answer(struct comparison *c, struct al_fit *f, const struct counted counted[N_FIGURES],
	struct al_error *err)
{
	struct al_table *memory = add_table(c, WEIGHTS, TOKENS, counted),
			*capacity = add_table(c, TOKENS, N_FIGURES, counted),
			*first = memory ? memory : capacity;

	if (!first)
		return al_fail(err, AL_EINPUT,
			"--log: found settings of %s, but no line about memory", c->engine->title);
	add_notes(c, first);
	al_note_engine(f->request, first);
	al_note_request(f->request, true, first);
	al_session_claim(c->session, say(c, f));
	return true;
}

bool al_fit_log(struct al_session *session, const struct al_fit_options *o, struct al_error *err)
{
	struct comparison c = {.session = session};
	struct counted counted[N_FIGURES];
	struct al_fit f;

	if (o->solve || o->match || o->devices.is_training)
		return al_fail(err, AL_EINPUT,
			"--log compares a log of inference; remove --solve, --match and --train");
	if (!read_log(&c, o, err))
		return false;
	if (!make_command(&c, o, err))
		return false;
	if (!count(&c, NULL, counted, &f, err))
		return al_in(err, "attnledger fit%s", command_text(&c));
	return answer(&c, &f, counted, err);
}
