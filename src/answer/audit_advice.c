/* Next commands after an audit: they apply its verdict. Chosen by losses if these were measured,
 * otherwise by weights. */
#include "answer/audit_run.h"

/* A conversion that is exact; of data: a head and a conversion; of weights: heads up to 1, 5 and
 * 10 %, and all. */
enum { MOST_ADVICE = 5 };

static void add(const struct al_audit_run *run, struct al_audit_page *page, const char *text,
	const char *command)
{
	struct al_page_advice *advice = page->advice
		? page->advice
		: al_new_array(&run->session->arena, struct al_page_advice, MOST_ADVICE);

	advice[page->n_advice++] = (struct al_page_advice){text, command};
	page->advice = advice;
}

/* ---- by data ---- */

/* Heads that share keys go together alone. */
static bool has_own_keys(const struct al_audit_run *run)
{
	for (size_t i = 0; i < run->n_measured; i++)
		if (run->measured[i]->n_heads != run->measured[i]->n_kv_heads)
			return false;
	return true;
}

static void add_measured(const struct al_audit_run *run, struct al_audit_page *page,
	const char *text, const char *options)
{
	struct al_arena *arena = &run->session->arena;

	add(run, page, text,
		al_format(arena, "attnledger compress %s --calibration %s %s -o smaller/",
			al_audit_model_words(run), al_shell_word(arena, run->options->calibration),
			options));
}

static void advise_by_data(const struct al_audit_run *run, struct al_audit_page *page)
{
	struct al_arena *arena = &run->session->arena;
	double head = 0;
	size_t row;

	if (run->losses.n_rows > 0 && has_own_keys(run)) {
		row = al_audit_losses_least(run);
		(void)al_table_number(&run->losses, row, "head", &head);
		add_measured(run, page, al_audit_verdict_say_losses(run),
			al_format(arena, "--method drop --drop %s:%.0f",
				al_shell_word(arena, al_table_text(&run->losses, row, "module")),
				head));
	}
	if (run->frontier.n_rows > 0 && al_audit_verdict_smallest(&run->frontier, &row))
		add_measured(run, page, al_audit_verdict_say_smallest(run),
			run->frontier_options[row]);
}

/* ---- by weights ---- */

static size_t count_up_to(const struct al_table *steps, double most)
{
	size_t n = 0;
	double error;

	while (n < steps->n_rows && al_table_number(steps, n, "cumulative_error", &error)
		&& error <= most)
		n++;
	return n;
}

/* Rotary positions: weights alone don't show the effect of merging. */
static bool is_rotary(const struct al_audit_run *run)
{
	for (size_t i = 0; i < run->n_measured; i++)
		if (run->measured[i]->is_rotary)
			return true;
	return false;
}

/* The number of the key/value head that a step's head reads, and how many heads do. */
static size_t group_of(const struct al_audit_run *run, const struct al_table *steps, size_t row,
	size_t *size)
{
	double head = 0;

	(void)al_table_number(steps, row, "head", &head);
	*size = 1;
	for (size_t i = 0; i < run->n_measured; i++) {
		const struct al_attention *a = run->measured[i];
		if (a->n_kv_heads > 0 && strcmp(a->name, al_table_text(steps, row, "module")) == 0)
			*size = (size_t)(a->n_heads / a->n_kv_heads);
	}
	return (size_t)head / *size;
}

/* Do all heads that share its keys and values go among the first `n`? `compress` removes no
 * others. */
static bool goes_with_group(const struct al_audit_run *run, const struct al_table *steps, size_t n,
	size_t row)
{
	size_t size, other, found = 0;
	const size_t group = group_of(run, steps, row, &size);
	const char *module = al_table_text(steps, row, "module");

	for (size_t i = 0; i < n; i++)
		found += strcmp(al_table_text(steps, i, "module"), module) == 0
			&& group_of(run, steps, i, &other) == group;
	return found == size;
}

/* Of the first `n` heads those that can be removed, and their number. Merging takes care of silent
 * heads too. */
static const char *remove_first(const struct al_audit_run *run, const struct al_table *steps,
	size_t n, size_t *n_removed)
{
	struct al_arena *arena = &run->session->arena;
	const char *calibration = run->options->calibration;
	bool merges = false;

	*n_removed = 0;
	AL_TEXT(heads);
	for (size_t row = 0; row < n; row++) {
		double head = 0;
		if (!goes_with_group(run, steps, n, row))
			continue;
		(void)al_table_number(steps, row, "head", &head);
		al_text_addf(&heads, "%s%s:%.0f", (*n_removed)++ ? "," : "",
			al_table_text(steps, row, "module"), head);
		merges |= strcmp(al_table_text(steps, row, "advice"), "drop") != 0;
	}
	if (*n_removed == 0)
		return NULL;
	const bool needs_calibration = merges && is_rotary(run);
	return al_format(arena, "attnledger compress %s --method %s --drop %s%s%s -o smaller/",
		al_audit_model_words(run), merges ? "merge" : "drop",
		al_shell_word(arena, heads.data), needs_calibration ? " --calibration " : "",
		!needs_calibration     ? ""
			: !calibration ? "DIR"
				       : al_shell_word(arena, calibration));
}

static void advise_by_weights(const struct al_audit_run *run, struct al_audit_page *page)
{
	const struct al_table *redundant = al_audit_run_table(run, "redundant");
	struct al_arena *arena = &run->session->arena;
	double levels[] = {.01, .05, .1, 0}, *last = &levels[3];
	AL_ENDS(al_table_finish) struct al_table steps = {0};

	if (!redundant)
		return;
	al_page_steps_table(&steps, redundant);
	if (steps.n_rows == 0)
		return;
	(void)al_table_number(&steps, steps.n_rows - 1, "cumulative_error", last);
	*last = ceil(100 * *last) / 100;
	for (size_t i = 0, before = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		size_t n;
		const char *command = remove_first(run, &steps, count_up_to(&steps, levels[i]), &n);
		if (n <= before)
			continue;
		add(run, page,
			al_format(arena, "%s, and no module's %s change by more than %s:",
				al_claim_counted(arena, n, "head"),
				al_audit_basis(&run->audit) == AL_ON_TOKENS ? "logits and outputs"
									    : "scores and values",
				al_claim_real(arena, "bound", "%", 100 * levels[i],
					al_format(arena, "%g %%", 100 * levels[i]))),
			command);
		before = n;
	}
}

/* ---- a conversion that loses nothing ---- */

/* Keys that pass a norm have no common key. */
static void advise_exact(const struct al_audit_run *run, struct al_audit_page *page)
{
	struct al_arena *arena = &run->session->arena;
	const int64_t n_kv_heads = al_audit_verdict_exact_heads(run);

	if (n_kv_heads == 0 || run->measured[0]->has_qk_norm)
		return;
	add(run, page, al_audit_verdict_say_exact(run),
		al_format(arena,
			"attnledger compress %s --method gqa --rank %" PRId64 " -o smaller/",
			al_audit_model_words(run), n_kv_heads));
	page->has_exact = true;
}

void al_audit_advise(const struct al_audit_run *run, struct al_audit_page *page)
{
	advise_exact(run, page);
	const size_t n_before = page->n_advice;
	advise_by_data(run, page);
	if (page->n_advice > n_before)
		return;
	advise_by_weights(run, page);
	page->has_steps = page->n_advice > n_before;
}

/* ---- next ---- */

/* After an audit of weights: the command for all heads that the sentence counts, and commands that
 * record or measure the data it lacks. */
void al_audit_next(const struct al_audit_run *run)
{
	struct al_session *session = run->session;
	const char *calibration = run->options->calibration;
	struct al_audit_page page = {0};

	al_audit_advise(run, &page);
	for (size_t i = 0; i < page.n_advice; i++)
		if (!page.has_steps || (i == 0 && page.has_exact) || i == page.n_advice - 1)
			al_session_next(session, "%s", page.advice[i].command);
	if (!run->opened->view.family->runs || run->losses.n_columns || run->frontier.n_columns)
		return;
	if (!calibration)
		al_session_next(session, "attnledger calibrate %s --tokens TOKENS -o calibration/",
			al_audit_model_words(run));
	else if (!al_covariance_imatrix(run->audit.options.covariance))
		al_session_next(session, "attnledger audit %s --calibration %s --tokens TOKENS",
			al_audit_model_words(run), al_shell_word(&session->arena, calibration));
}
