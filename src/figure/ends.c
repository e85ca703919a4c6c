/* Names at the ends of lines: next to the frame, pushed apart where lines end close together, and
 * then joined to their line by a thin leader.
 *
 * The places minimize the sum of squared shifts under the least distances: with the distances taken
 * off, that is an isotonic regression (pool adjacent violators), and bounds only clamp it. */

#include "figure/mark.h"
#include "figure/palette.h"

static const double near_pt = 4, far_pt = 13; /* from the frame to the names */
static const double widest_share = 0.42; /* of the canvas */

struct end {
	size_t series;
	double x, y; /* where the line ends */
	double place; /* the middle of its name */
};

/* The last point that is drawn. */
static bool find_end(const struct al_scene *scene, size_t series, struct end *out)
{
	const struct al_points points = al_points_of_series(&scene->plot->points, 0, series);

	for (size_t i = points.n; i-- > 0;)
		if (al_scene_holds(scene, &points.items[i])) {
			const struct al_spot at = al_scene_at(scene, &points.items[i]);
			*out = (struct end){series, at.x, at.y, 0};
			return true;
		}
	return false;
}

static int from_top(const void *a, const void *b)
{
	const struct end *p = a, *q = b;
	const int order = al_compare(p->y, q->y);

	return order ? order : al_compare(p->series, q->series);
}

/* The lines that end early, or those that reach the right side. */
static size_t find_ends(const struct al_scene *scene, bool early, struct end ends[AL_MOST_SERIES])
{
	const double late_from = scene->frames[0].right - 2 * AL_INSET_PT;
	size_t n = 0;

	for (size_t series = 0; series < scene->plot->n_series; series++)
		n += find_end(scene, series, &ends[n]) && (ends[n].x < late_from) == early;
	qsort(ends, n, sizeof(*ends), from_top);
	return n;
}

static struct al_label name_of(const struct al_scene *scene, size_t series)
{
	return (struct al_label){.text = scene->plot->series[series],
		.font = AL_FONT_TICK,
		.color = al_series_ink(scene->plot->looks[series])};
}

/* The widest and the highest. */
static struct al_size measure_names(struct al_scene *scene)
{
	struct al_size most = {0};

	for (size_t series = 0; series < scene->plot->n_series; series++) {
		const struct al_label label = name_of(scene, series);
		const struct al_size size = al_label_measure(scene->canvas, &label);
		most.width_pt = fmax(most.width_pt, size.width_pt);
		most.height_pt = fmax(most.height_pt, size.height_pt);
	}
	return most;
}

bool al_scene_end_labels_fit(struct al_scene *scene)
{
	const struct al_box *frame = &scene->frames[0];
	const struct al_size most = measure_names(scene);

	return (double)scene->plot->n_series * most.height_pt <= frame->bottom - frame->top
		&& most.width_pt <= widest_share * scene->canvas->width_pt;
}

/* Blocks of names that touch, each at the mean of what its members wish. */
struct block {
	double sum;
	size_t n;
};

static void push_apart(struct end *ends, size_t n, double distance, double top, double bottom)
{
	struct block blocks[AL_MOST_SERIES];
	size_t n_blocks = 0, next = 0;

	for (size_t i = 0; i < n; i++) {
		blocks[n_blocks++] = (struct block){ends[i].y - (double)i * distance, 1};
		while (n_blocks > 1
			&& blocks[n_blocks - 2].sum / (double)blocks[n_blocks - 2].n
				> blocks[n_blocks - 1].sum / (double)blocks[n_blocks - 1].n) {
			n_blocks--;
			blocks[n_blocks - 1].sum += blocks[n_blocks].sum;
			blocks[n_blocks - 1].n += blocks[n_blocks].n;
		}
	}
	bottom -= (double)(n - 1) * distance;
	for (size_t b = 0; b < n_blocks; b++)
		for (size_t k = 0; k < blocks[b].n; k++, next++)
			ends[next].place = (double)next * distance
				+ fmin(bottom, fmax(top, blocks[b].sum / (double)blocks[b].n));
}

/* A name right next to its line needs no leader; if one name needs a leader, all names get one. */
static bool need_leaders(const struct end *ends, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fabs(ends[i].place - ends[i].y) > 1.5)
			return true;
	return false;
}

/* The lines that reach the right side, and the places of their names. */
static size_t place_ends(struct al_scene *scene, struct end ends[AL_MOST_SERIES], double *gap_pt)
{
	const struct al_box *frame = &scene->frames[0];
	size_t n = find_ends(scene, false, ends);
	const double height = measure_names(scene).height_pt;

	if (n > 0)
		push_apart(ends, n, height, frame->top + height / 2, frame->bottom - height / 2);
	*gap_pt = need_leaders(ends, n) ? far_pt : near_pt;
	return n;
}

double al_scene_end_labels_width(struct al_scene *scene)
{
	struct end ends[AL_MOST_SERIES];
	double gap;

	place_ends(scene, ends, &gap);
	return measure_names(scene).width_pt + gap;
}

static bool name_early_ends(struct al_scene *scene)
{
	struct end ends[AL_MOST_SERIES];
	size_t n = find_ends(scene, true, ends);
	struct al_obstacles obstacles = {0};

	if (n > 0)
		obstacles = al_scene_obstacles(scene, 0);
	for (size_t i = 0; i < n; i++) {
		struct al_label label = name_of(scene, ends[i].series);
		if (!al_label_put_near(&obstacles, &label, al_label_measure(scene->canvas, &label),
			    ends[i].x, ends[i].y))
			return false;
		al_scene_add_label(scene, &label);
	}
	return true;
}

bool al_scene_add_end_labels(struct al_scene *scene)
{
	struct end ends[AL_MOST_SERIES];
	double gap;

	if (!name_early_ends(scene))
		return false;
	size_t n = place_ends(scene, ends, &gap);
	for (size_t i = 0; i < n; i++) {
		const struct al_box box = al_scene_write(scene, name_of(scene, ends[i].series),
			scene->frames[0].right + gap, ends[i].place, 0, 0.5);
		if (gap == far_pt)
			al_scene_add_leader(scene,
				(struct al_segment){ends[i].x + 3, ends[i].y, box.left - 1.5,
					ends[i].place});
	}
	return true;
}
