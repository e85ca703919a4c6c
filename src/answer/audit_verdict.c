/* The verdict of an audit: its sentence and the tiles of its page, from the finished tables. Losses
 * that were measured come first, then what heads output on tokens; weights only where neither was
 * recorded. */
#include "answer/audit_run.h"
#include "answer/calibration.h"

#include "audit/conversion_totals.h"
#include "audit/redundant.h"
#include "report/claim.h"

/* Limit for the smallest cache in the sentence, in nats per token. */
static const double MOST_KL = .05;

/* ---- pieces ---- */

/* Modules of one layer, as of an encoder-decoder, differ by their names. */
static bool shares_layers(const struct al_audit_run *run)
{
	for (size_t i = 0; i < run->n_measured; i++)
		for (size_t k = 0; k < i; k++)
			if (run->measured[i]->layer == run->measured[k]->layer)
				return true;
	return false;
}

const char *al_audit_head_text(const struct al_audit_run *run, const struct al_table *table,
	size_t row)
{
	struct al_arena *arena = &run->session->arena;
	const bool has_names = shares_layers(run);

	return al_format(arena, "%s%s head %s", has_names ? "" : "layer ",
		al_claim_cell(arena, table, row, has_names ? "module" : "layer"),
		al_claim_cell(arena, table, row, "head"));
}

const char *al_audit_limit_text(struct al_arena *arena)
{
	return al_claim_real(arena, "limit", "%", AL_REMOVABLE_PERCENT,
		al_format(arena, "%d %%", AL_REMOVABLE_PERCENT));
}

/* ---- conversions ---- */

/* "GQA with 6 key/value heads" */
static const char *conversion_text(struct al_arena *arena, const struct al_table *totals,
	size_t row)
{
	const char *variant = al_table_text(totals, row, "variant");
	const char *setting = al_table_text(totals, row, "setting");

	if (strncmp(variant, "gqa-", 4) == 0)
		return al_format(arena, "GQA with %s key/value heads",
			al_claim_count(arena, "n_kv_heads", strtoll(variant + 4, NULL, 10)));
	if (strcmp(variant, "mqa") == 0)
		return "One key/value head for all (MQA)";
	return al_format(arena, "%s%s%s", al_claim_name(arena, "variant", variant),
		*setting ? " with " : "", al_claim_name(arena, "setting", setting));
}

/* Tokens that fill fewer directions than inputs have would make anything exact. */
static bool judges_conversions(const struct al_audit_run *run)
{
	const struct al_calibration *calibration = al_covariance_calibration(
		run->audit.options.covariance);
	const struct al_module_statistics *first = calibration ? &calibration->modules[0] : NULL;

	return !first || al_statistics_tokens(first) > (double)al_statistics_inputs(first);
}

/* The conversion that loses nothing and saves most; false: there is none. */
static bool find_exact(const struct al_audit_run *run, size_t *row)
{
	*row = 0;
	return run->totals.n_rows > 0 && judges_conversions(run)
		&& al_conversion_find_exact(&run->totals, row);
}

int64_t al_audit_verdict_exact_heads(const struct al_audit_run *run)
{
	size_t row;

	if (!find_exact(run, &row))
		return 0;
	const char *variant = al_table_text(&run->totals, row, "variant");
	if (strncmp(variant, "gqa-", 4) == 0)
		return strtoll(variant + 4, NULL, 10);
	return strcmp(variant, "mqa") == 0;
}

const char *al_audit_verdict_say_exact(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	size_t row;

	if (!find_exact(run, &row))
		return "";
	return al_format(arena,
		"%s is exact%s: it saves " AL_CLAIM_LEAD
		"%s of the KV cache and %s of attention's parameters.",
		conversion_text(arena, &run->totals, row),
		run->audit.options.covariance ? " on the recorded inputs" : "",
		al_claim_share(arena, &run->totals, row, "cache_saving"),
		al_claim_share(arena, &run->totals, row, "saving"));
}

/* Of the conversions that were measured: the smallest cache at a KL divergence of MOST_KL or less,
 * and of equal ones the least divergence. */
bool al_audit_verdict_smallest(const struct al_table *frontier, size_t *out)
{
	double best[2] = {0, INFINITY}, saving, kl;

	*out = 0;
	for (size_t row = 0; row < frontier->n_rows; row++) {
		if (!al_table_number(frontier, row, "cache_saving", &saving)
			|| !al_table_number(frontier, row, "kl", &kl) || kl > MOST_KL
			|| saving < best[0] || (saving == best[0] && kl >= best[1]))
			continue;
		best[0] = saving;
		best[1] = kl;
		*out = row;
	}
	return isfinite(best[1]);
}

static const char *measured_text(struct al_arena *arena, const struct al_table *frontier,
	size_t row)
{
	return al_format(arena, "%s (%s)", al_claim_cell(arena, frontier, row, "method"),
		al_claim_cell(arena, frontier, row, "setting"));
}

static const char *most_kl_text(struct al_arena *arena)
{
	return al_claim_real(arena, "most_kl", "nats per token", MOST_KL,
		al_format(arena, "%g", MOST_KL));
}

const char *al_audit_verdict_say_smallest(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const char *most = most_kl_text(arena);
	size_t row;

	if (run->frontier.n_rows == 0)
		return "";
	if (!al_audit_verdict_smallest(&run->frontier, &row))
		return al_format(arena, "No conversion has a KL divergence of %s or less.", most);
	return al_format(arena, "Smallest cache at KL <= %s: %s, %s %% smaller, KL %s.", most,
		measured_text(arena, &run->frontier, row),
		al_claim_cell(arena, &run->frontier, row, "cache_saving"),
		al_claim_with_error(arena, &run->frontier, row, "kl", "kl_error"));
}

/* ---- heads by what they output ---- */

/* Has W_O of the other heads been fitted and judged? */
static bool refits(const struct al_table *drop)
{
	double error;

	return al_table_extreme(drop, "error_compensated", -1, &error) < drop->n_rows;
}

/* Those that cost less than a tenth of an average head of their layer. */
static size_t count_removable_by_outputs(const struct al_table *drop)
{
	size_t n = 0;
	double relative;

	for (size_t row = 0; row < drop->n_rows; row++)
		n += al_table_number(drop, row, "relative", &relative)
			&& relative < AL_REMOVABLE_PERCENT;
	return n;
}

/* Another one of its layer. */
static bool is_tied_with(const struct al_table *drop, size_t row, size_t other)
{
	const char *places[2] = {al_table_text(drop, row, "place"),
		al_table_text(drop, other, "place")};

	return row != other && places[0] && places[1] && strcmp(places[0], "tied") == 0
		&& strcmp(places[1], "tied") == 0
		&& strcmp(al_table_text(drop, row, "module"), al_table_text(drop, other, "module"))
		== 0;
}

/* ", which can't be told apart from heads 0 and 2" of its layer */
static const char *ties_text(struct al_arena *arena, const struct al_table *drop, size_t row)
{
	size_t n = 0, i = 0;

	for (size_t other = 0; other < drop->n_rows; other++)
		n += is_tied_with(drop, row, other);
	if (n == 0)
		return "";
	const char *text = n == 1 ? ", which can't be told apart from head "
				  : ", which can't be told apart from heads ";
	for (size_t other = 0; other < drop->n_rows; other++)
		if (is_tied_with(drop, row, other)) {
			text = al_format(arena, "%s%s%s", text,
				i == 0		     ? ""
					: i + 1 == n ? " and "
						     : ", ",
				al_claim_cell(arena, drop, other, "head"));
			i++;
		}
	return text;
}

/* By what heads are put in order; with a refit the turn is estimated. */
static const char *change_text(struct al_arena *arena, const struct al_table *drop, size_t row)
{
	static const char *const turns[] = {"turn_refitted", "turn"};
	double turn;

	for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++)
		if (al_table_number(drop, row, turns[i], &turn))
			return al_format(arena, "the residual stream turns by %s%s\302\260",
				i == 0 ? "about " : "",
				al_claim_cell_as(arena, drop, row, turns[i],
					al_format(arena, "%.1f", turn)));
	return al_format(arena, "its layer's output changes by %s",
		al_claim_share(arena, drop, row,
			refits(drop) ? "error_compensated" : "error_dropped"));
}

/* "layer 0 head 0 (34 %; the residual stream turns by 5.0°)", of an average head */
static const char *cheapest_text(const struct al_audit_run *run, const struct al_table *drop,
	size_t row, double relative)
{
	struct al_arena *arena = &run->session->arena;

	return al_format(arena, "%s (%s; %s)%s", al_audit_head_text(run, drop, row),
		al_claim_cell_as(arena, drop, row, "relative",
			al_format(arena, "%.0f %%", relative)),
		change_text(arena, drop, row), ties_text(arena, drop, row));
}

static const char *say_outputs(const struct al_audit_run *run, const struct al_table *drop)
{
	struct al_arena *arena = &run->session->arena;
	const size_t n = count_removable_by_outputs(drop);
	double relative;
	const size_t row = al_table_extreme(drop, "relative", -1, &relative);
	const char *text = al_format(arena,
		"%s, %s of %s heads cost%s less than %s of an average head of %s layer on this "
		"text",
		refits(drop) ? "With W_O refitted" : "With W_O as it is",
		n == 0 ? "none" : al_claim_count(arena, "removable", (int64_t)n),
		al_claim_count(arena, "heads", (int64_t)drop->n_rows), n > 1 ? "" : "s",
		al_audit_limit_text(arena), n > 1 ? "their" : "its");

	if (run->losses.n_rows > 0 || row == drop->n_rows)
		return al_format(arena, "%s.", text);
	return al_format(arena, "%s. Cheapest: %s.", text, cheapest_text(run, drop, row, relative));
}

/* ---- the sentence ---- */

static const char *join(struct al_arena *arena, const char *text, const char *more)
{
	return *text && *more ? al_format(arena, "%s %s", text, more) : *text ? text : more;
}

static const char *say_left_out(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const size_t n = run->n_left_out;

	if (n == 0)
		return "";
	return al_format(arena,
		"%s of %s layers %s judged: %s %s numbers that are NaN or infinite.",
		al_claim_count(arena, "left_out", (int64_t)n),
		al_claim_count(arena, "layers", (int64_t)(run->n_measured + n)),
		n == 1 ? "isn't" : "aren't",
		al_claim_name(arena, "left_out_first", run->left_out[0].module),
		n == 1 ? "has" : "and others have");
}

const char *al_audit_verdict(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_table *drop = al_audit_run_table(run, "drop");
	const char *text = join(arena, al_audit_verdict_say_exact(run),
		run->ablation ? run->ablation : "");

	if (run->losses.n_rows > 0)
		text = join(arena, text, al_audit_verdict_say_losses(run));
	text = join(arena, text, al_audit_verdict_say_smallest(run));
	text = join(arena, text,
		drop && drop->n_rows > 0 ? join(arena, run->ablation ? "" : say_outputs(run, drop),
			al_audit_verdict_say_copies(run))
					 : al_audit_verdict_say_removable(run));
	if (*text)
		text = join(arena, text, say_left_out(run));
	if (*text && al_covariance_calibration(run->audit.options.covariance))
		text = al_format(arena, "%s%s", text,
			al_calibration_say_few(arena, &run->audit.options.covariance->calibration));
	return *text ? text : NULL;
}

/* ---- the page ---- */

/* A row of the page. */
enum { MOST_TILES = 4 };

static void add_tile(struct al_page_tile *tiles, size_t *n, const char *number, const char *text)
{
	if (*n < MOST_TILES)
		tiles[(*n)++] = (struct al_page_tile){number, text};
}

static void add_exact_tile(const struct al_audit_run *run, struct al_page_tile *tiles, size_t *n)
{
	struct al_arena *arena = &run->session->arena;
	size_t row;

	if (find_exact(run, &row))
		add_tile(tiles, n, al_claim_share(arena, &run->totals, row, "cache_saving"),
			al_format(arena, "less KV cache at no error: %s",
				conversion_text(arena, &run->totals, row)));
}

static void add_measured_tiles(const struct al_audit_run *run, struct al_page_tile *tiles,
	size_t *n)
{
	struct al_arena *arena = &run->session->arena;
	const bool is_encoder = run->opened->view.family->is_encoder;
	size_t row;

	if (run->losses.n_rows > 0) {
		row = al_audit_losses_least(run);
		add_tile(tiles, n,
			al_claim_cell(arena, &run->losses, row,
				is_encoder ? "embedding_change" : "loss_increase"),
			al_format(arena, "%s without %s",
				is_encoder ? "cosine distance that embeddings move"
					   : "nats per token: the loss added",
				al_audit_head_text(run, &run->losses, row)));
	}
	if (run->frontier.n_rows > 0 && al_audit_verdict_smallest(&run->frontier, &row))
		add_tile(tiles, n, al_claim_share(arena, &run->frontier, row, "cache_saving"),
			al_format(arena, "less cache at KL \342\211\244 %s: %s",
				most_kl_text(arena), measured_text(arena, &run->frontier, row)));
}

static void add_output_tile(const struct al_audit_run *run, const struct al_table *drop,
	struct al_page_tile *tiles, size_t *n)
{
	struct al_arena *arena = &run->session->arena;

	add_tile(tiles, n,
		al_claim_count(arena, "removable", (int64_t)count_removable_by_outputs(drop)),
		al_format(arena,
			"removable heads (of %s): each costs less than %s of an average head of "
			"its layer%s",
			al_claim_count(arena, "heads", (int64_t)drop->n_rows),
			al_audit_limit_text(arena), refits(drop) ? ", W_O refitted" : ""));
}

static void add_weight_tiles(const struct al_audit_run *run, struct al_page_tile *tiles, size_t *n)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_table *heads = al_audit_run_table(run, "heads");
	const struct al_table *redundant = al_audit_run_table(run, "redundant");

	if (!heads || !redundant)
		return;
	const struct al_removable found = al_redundant_count(redundant);
	add_tile(tiles, n,
		al_claim_count(arena, "removable",
			(int64_t)(found.n[AL_REASON_TWIN] + found.n[AL_REASON_SILENT])),
		al_format(arena, "removable heads (of %s)",
			al_claim_count(arena, "heads", (int64_t)heads->n_rows)));
	add_tile(tiles, n, al_claim_count(arena, "copies", (int64_t)found.n[AL_REASON_TWIN]),
		"near copies of another head");
	add_tile(tiles, n, al_claim_count(arena, "silent", (int64_t)found.n[AL_REASON_SILENT]),
		"write almost nothing");
}

/* "24 - 37 %" */
static void add_overlap_tile(const struct al_audit_run *run, struct al_page_tile *tiles, size_t *n)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_table *layers = al_audit_run_table(run, "layers");
	const char *texts[2], *cells[2];

	for (int i = 0; i < 2; i++) {
		double share;
		const size_t row = layers
			? al_table_extreme(layers, "redundancy", i ? 1 : -1, &share)
			: 0;
		if (!layers || row == layers->n_rows)
			return;
		texts[i] = al_format(arena, "%.0f", rint(100 * share) + 0.0);
		cells[i] = al_claim_cell_as(arena, layers, row, "redundancy", texts[i]);
	}
	add_tile(tiles, n,
		strcmp(texts[0], texts[1]) == 0
			? al_format(arena, "%s %%", cells[0])
			: al_format(arena, "%s \342\200\223 %s %%", cells[0], cells[1]),
		"more overlap between heads than unrelated heads would have, by layer");
}

void al_audit_verdict_tiles(const struct al_audit_run *run, struct al_audit_page *page)
{
	struct al_page_tile *tiles = al_new_array(&run->session->arena, struct al_page_tile,
		MOST_TILES);
	const struct al_table *drop = al_audit_run_table(run, "drop");
	size_t n = 0;

	add_exact_tile(run, tiles, &n);
	add_measured_tiles(run, tiles, &n);
	if (drop && drop->n_rows > 0)
		add_output_tile(run, drop, tiles, &n);
	else
		add_weight_tiles(run, tiles, &n);
	add_overlap_tile(run, tiles, &n);
	page->tiles = tiles;
	page->n_tiles = n;
}
