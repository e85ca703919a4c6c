/* Sums over tokens in one pass. */
#include "deacon/stream.h"

#include "linalg/linalg.h"

enum { PANEL_ROWS = 4096, MOST_PANELS = 256 };
static const size_t wave_bytes = (size_t)24 << 20; /* of the sums of panels side by side */

void al_sums_finish(struct al_sums *sums)
{
	free(sums->sums);
	*sums = (struct al_sums){0};
}

static bool is_finite(const double *row, size_t width)
{
	return al_is_finite((struct al_view){row, width, 1, width});
}

/* Moves the finite rows together; their number. */
static size_t keep_finite(struct al_sums *sums, double *rows, size_t n)
{
	const size_t width = sums->statistic->width;
	size_t kept = 0;

	for (size_t t = 0; t < n; t++) {
		if (!is_finite(rows + t * width, width))
			continue;
		if (kept != t)
			memcpy(rows + kept * width, rows + t * width, width * sizeof(*rows));
		kept++;
	}
	sums->n_left_out += (int64_t)(n - kept);
	return kept;
}

static bool add_block(struct al_sums *sums, double *rows, size_t n, struct al_error *err)
{
	const size_t kept = keep_finite(sums, rows, n);

	sums->n_rows += (int64_t)kept;
	return kept == 0
		|| sums->statistic->add(sums->statistic->context, rows, kept, sums->sums, err);
}

/* ---- in panels ---- */

static void merge(struct al_sums *into, const struct al_sums *from)
{
	for (size_t i = 0; i < into->statistic->n_sums; i++)
		into->sums[i] += from->sums[i];
	into->n_rows += from->n_rows;
	into->n_left_out += from->n_left_out;
}

/* Rows of `width` numbers: heads, and where that is more than theirs targets behind them. */
static bool read_rows(const struct al_rows rows[2], size_t first, size_t n, double *out,
	size_t width, struct al_error *err)
{
	return al_rows_read(&rows[0], first, n, out, width, err)
		&& (width == rows[0].width
			|| al_rows_read(&rows[1], first, n, out + rows[0].width, width, err));
}

/* Panels that are summed side by side. */
struct wave {
	const struct al_rows *rows; /* [2] */
	struct al_sums *panels;
	size_t first_row;
};

static bool sum_panel(void *context, size_t index, struct al_error *err)
{
	const struct wave *wave = context;
	struct al_sums *sums = &wave->panels[index];
	const size_t first = wave->first_row + index * PANEL_ROWS,
		     left = wave->rows->n_rows - first, end = first + al_least(left, PANEL_ROWS),
		     block = sums->statistic->block_rows;
	AL_FREED double *rows = al_alloc(block * sums->statistic->width, sizeof(*rows));
	bool ok = true;

	memset(sums->sums, 0, sums->statistic->n_sums * sizeof(*sums->sums));
	sums->n_rows = sums->n_left_out = 0;
	for (size_t at = first; ok && at < end; at += block) {
		const size_t n = al_least(end - at, block);
		ok = read_rows(wave->rows, at, n, rows, sums->statistic->width, err)
			&& add_block(sums, rows, n, err);
	}
	return ok;
}

static size_t panels_side_by_side(const struct al_statistic *statistic)
{
	const size_t fit = wave_bytes / sizeof(double) / (statistic->n_sums + 1);

	return al_most(1, al_least(fit, MOST_PANELS));
}

static bool sum_wave(struct al_sums *sums, struct wave *wave, size_t n, struct al_error *err)
{
	if (!al_parallel(n, sum_panel, wave, err))
		return false;
	for (size_t i = 0; i < n; i++)
		merge(sums, &wave->panels[i]);
	return true;
}

bool al_sums_find(struct al_sums *sums, const struct al_statistic *statistic,
	const struct al_rows rows[2], struct al_error *err)
{
	const size_t side_by_side = panels_side_by_side(statistic), n_sums = statistic->n_sums;
	struct al_sums panels[MOST_PANELS];
	struct wave wave = {.rows = rows, .panels = panels};
	AL_SCRATCH(scratch);
	double *room = al_take_array(&scratch, side_by_side * n_sums, sizeof(*room), err);

	*sums = (struct al_sums){.statistic = statistic,
		.sums = room ? al_try_calloc(n_sums, sizeof(double), err) : NULL};
	bool ok = sums->sums != NULL;
	for (size_t i = 0; ok && i < side_by_side; i++)
		panels[i] = (struct al_sums){.statistic = statistic, .sums = room + i * n_sums};
	for (; ok && wave.first_row < rows->n_rows; wave.first_row += side_by_side * PANEL_ROWS) {
		const size_t left = (rows->n_rows - wave.first_row + PANEL_ROWS - 1) / PANEL_ROWS;
		ok = sum_wave(sums, &wave, al_least(left, side_by_side), err);
	}
	if (!ok)
		al_sums_finish(sums);
	return ok;
}

bool al_rows_first(const struct al_rows rows[2], double *out, struct al_error *err)
{
	const size_t width = rows[0].width + rows[1].width;

	for (size_t t = 0; t < rows->n_rows; t++) {
		if (!read_rows(rows, t, 1, out, width, err))
			return false;
		if (is_finite(out, width))
			return true;
	}
	return al_fail(err, AL_EINPUT, "tensor \"%.120s\": %s", rows->name,
		rows->n_rows ? "no token has only finite numbers" : "it has no tokens");
}
