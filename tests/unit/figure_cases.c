/* Tables and figures: MHE (Xue & Aletras 2023) Figures 1, 3, 4 and Table 13, BLEU against the key
 * width of collaborative attention (Cordonnier et al. 2020), and shapes that are hard to lay
 * out. */
#include "figure_cases.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const variants[] = {"MHA", "SKV", "MQA", "EL-ATT", "SHA", "MHE-ADD", "MHE-MUL"};

enum { N_VARIANTS = sizeof(variants) / sizeof(*variants), D_HEAD = 64 };

/* Projections of queries, keys and values in a sublayer with d_model = n*d (MHE, section 6). */
static int64_t sublayer(const char *variant, int64_t n)
{
	const int64_t d = D_HEAD;

	if (strcmp(variant, "MHA") == 0)
		return 3 * n * n * d * d;
	if (strcmp(variant, "SKV") == 0)
		return 2 * n * n * d * d;
	if (strcmp(variant, "MQA") == 0)
		return n * n * d * d + 2 * n * d * d;
	if (strcmp(variant, "EL-ATT") == 0)
		return n * n * d * d;
	if (strcmp(variant, "SHA") == 0)
		return 3 * n * d * d;
	return 3 * n * d * d + 3 * n * d;
}

static size_t key(struct al_table *table, const char *name, const char *title)
{
	return al_table_add_column(table,
		(struct al_column){.key = name,
			.title = title,
			.is_key = true,
			.digits = AL_DIGITS_ALL});
}

static size_t measure(struct al_table *table, const char *name, const char *title, const char *unit,
	enum al_quantity quantity)
{
	return al_table_add_column(table,
		(struct al_column){.key = name,
			.title = title,
			.unit = unit,
			.quantity = quantity,
			.digits = AL_DIGITS_ALL});
}

static void fill_scaling(struct al_table *table, int64_t most_heads, size_t n_variants)
{
	key(table, "n_heads", "Attention heads");
	key(table, "variant", "Variant");
	measure(table, "parameters", "Parameters", "", AL_QUANTITY_COUNT);
	for (size_t v = 0; v < n_variants; v++)
		for (int64_t n = 1; n <= most_heads; n++) {
			struct al_cell *row = al_table_add_row(table);
			al_cell_set_int(table, &row[0], n);
			al_cell_set_text(table, &row[1], variants[v]);
			al_cell_set_int(table, &row[2], sublayer(variants[v], n));
		}
}

static void fill_figure_3(struct al_table *table)
{
	fill_scaling(table, 128, N_VARIANTS);
}

static void fill_long(struct al_table *table)
{
	fill_scaling(table, 5000, 4);
}

static void fill_figure_4(struct al_table *table)
{
	static const int64_t layers[] = {12, 24, 48}, heads[] = {32, 64};

	key(table, "n_layers", "Layers");
	key(table, "n_heads", "Heads");
	key(table, "variant", "Variant");
	measure(table, "parameters", "Parameters", "", AL_QUANTITY_COUNT);
	for (size_t v = 0; v < N_VARIANTS; v++)
		for (size_t l = 0; l < 3; l++)
			for (size_t h = 0; h < 2; h++) {
				struct al_cell *row = al_table_add_row(table);
				al_cell_set_int(table, &row[0], layers[l]);
				al_cell_set_int(table, &row[1], heads[h]);
				al_cell_set_text(table, &row[2], variants[v]);
				al_cell_set_int(table, &row[3],
					layers[l] * sublayer(variants[v], heads[h]));
			}
}

/* BERT-base, one block, full W_O, Smith et al. 2022: 6 + 6 + 8 bytes a parameter, activations of
 * 32 * 512 tokens * 768 * 2 bytes. */
static void fill_table_13(struct al_table *table)
{
	static const struct {
		const char *name;
		int64_t parameters;
	} rows[] = {
		{"SHA", 737280},
		{"MHA", 2359296},
		{"EL-ATT", 1179648},
		{"MQA", 1277952},
		{"SKV", 1769472},
		{"MHE-ADD", 739584},
		{"MHE-MUL", 739584},
	};

	key(table, "variant", "");
	measure(table, "weights", "Weights", "B", AL_QUANTITY_BYTES);
	measure(table, "gradients", "Gradients", "B", AL_QUANTITY_BYTES);
	measure(table, "optimizer", "Optimizer", "B", AL_QUANTITY_BYTES);
	measure(table, "activations", "Activations", "B", AL_QUANTITY_BYTES);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[0], rows[i].name);
		al_cell_set_int(table, &row[1], 6 * rows[i].parameters);
		al_cell_set_int(table, &row[2], 6 * rows[i].parameters);
		al_cell_set_int(table, &row[3], 8 * rows[i].parameters);
		al_cell_set_int(table, &row[4], 25165824);
	}
}

/* MHE, Table 1: GLUE against parameters. */
static void fill_scores(struct al_table *table)
{
	static const struct {
		const char *name;
		double parameters, score;
	} rows[] = {
		{"SHA", 8.85e6, 79.6},
		{"MHA", 28.31e6, 81.9},
		{"EL-ATT", 14.16e6, 80.4},
		{"MQA", 15.34e6, 81.0},
		{"SKV", 21.23e6, 81.4},
		{"MHE-ADD", 8.88e6, 80.5},
		{"MHE-MUL", 8.88e6, 80.6},
	};

	key(table, "variant", "Variant");
	measure(table, "parameters", "Attention parameters", "", AL_QUANTITY_COUNT);
	measure(table, "glue", "GLUE average", "", AL_QUANTITY_PLAIN);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[0], rows[i].name);
		al_cell_set_real(&row[1], rows[i].parameters);
		al_cell_set_real(&row[2], rows[i].score);
	}
}

/* Transformer-base on WMT14 En-De; the first cell of the second series is missing. */
static void fill_bleu(struct al_table *table)
{
	static const int64_t width[] = {1024, 256, 128, 64, 32};
	static const double concatenated[] = {27.8, 27.7, 27.4, 26.6, 25.5};
	static const double collaborative[] = {NAN, 27.8, 27.8, 27.3, 27.1};

	key(table, "d_k", "Key width D_k");
	key(table, "attention", "Attention");
	measure(table, "bleu", "BLEU", "", AL_QUANTITY_PLAIN);
	for (size_t i = 0; i < 10; i++) {
		struct al_cell *row = al_table_add_row(table);
		double score = i < 5 ? concatenated[i] : collaborative[i - 5];
		al_cell_set_int(table, &row[0], width[i % 5]);
		al_cell_set_text(table, &row[1], i < 5 ? "concatenated" : "collaborative");
		if (!isnan(score))
			al_cell_set_real(&row[2], score);
	}
}

/* Memory against sequence length, with budgets as reference lines. */
static void fill_memory(struct al_table *table)
{
	key(table, "seq", "Sequence length");
	key(table, "variant", "Variant");
	measure(table, "cache", "KV cache", "B", AL_QUANTITY_BYTES);
	for (int64_t groups = 1; groups <= 96; groups *= groups == 1 ? 8 : 12)
		for (int64_t seq = 512; seq <= 131072; seq *= 2) {
			struct al_cell *row = al_table_add_row(table);
			al_cell_set_int(table, &row[0], seq);
			al_cell_set_text(table, &row[1],
				groups == 1	      ? "MQA"
					: groups == 8 ? "GQA-8"
						      : "MHA");
			al_cell_set_int(table, &row[2], seq * 96 * 2 * 2 * 128 * groups);
		}
}

/* Two panels of 8 and of 100 values of x: three strands of "own" at 0.2, 0.3 and 0.7 of x's share,
 * and two of "null" at 0.8 and 1. */
static void fill_strands(struct al_table *table)
{
	static const double shares[] = {.2, .3, .7, .8, 1};

	key(table, "panel", "Panel");
	key(table, "of", "Of");
	key(table, "strand", "Strand");
	key(table, "x", "x");
	measure(table, "y", "y", "", AL_QUANTITY_PLAIN);
	for (int64_t n = 8; n <= 100; n += 92)
		for (int64_t strand = 0; strand < 5; strand++)
			for (int64_t x = 1; x <= n; x++) {
				struct al_cell *row = al_table_add_row(table);
				al_cell_set_text(table, &row[0], n == 8 ? "short" : "long");
				al_cell_set_text(table, &row[1], strand < 3 ? "own" : "null");
				al_cell_set_int(table, &row[2], strand);
				al_cell_set_int(table, &row[3], x);
				al_cell_set_real(&row[4], shares[strand] * (double)x / (double)n);
			}
}

/* Values around zero, one missing, a few of them large: bars hang and stand. */
static void fill_negative(struct al_table *table)
{
	static const double y[] = {3, -9, NAN, 7.5, -2, 0, 11};

	key(table, "x", "Step");
	measure(table, "change", "Change", "%", AL_QUANTITY_PLAIN);
	for (int i = 0; i < 7; i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_int(table, &row[0], 10 * i);
		if (!isnan(y[i]))
			al_cell_set_real(&row[1], y[i]);
	}
}

/* 100, 1000 and 10000. */
static void fill_powers(struct al_table *table)
{
	key(table, "name", "Name");
	measure(table, "value", "Value", "", AL_QUANTITY_PLAIN);
	for (int i = 2; i <= 4; i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_int(table, &row[0], i);
		al_cell_set_real(&row[1], pow(10, i));
	}
}

/* Points so close together that labels need leaders; two series coincide. */
static void fill_crowd(struct al_table *table)
{
	key(table, "name", "Name");
	key(table, "kind", "Kind");
	measure(table, "x", "Width", "", AL_QUANTITY_PLAIN);
	measure(table, "y", "Error", "%", AL_QUANTITY_PLAIN);
	for (int i = 0; i < 14; i++) {
		char name[16];
		struct al_cell *row = al_table_add_row(table);
		snprintf(name, sizeof(name), "model-%c", 'a' + i);
		al_cell_set_text(table, &row[0], name);
		al_cell_set_text(table, &row[1], i % 2 ? "measured" : "derived");
		al_cell_set_real(&row[2], i < 10 ? 50 + i / 2 : 10 * i);
		al_cell_set_real(&row[3], i < 10 ? 3 + 0.1 * (i % 3) : i);
	}
}

/* Many names, long ones, of a single value each. */
static void fill_names(struct al_table *table)
{
	key(table, "name", "Name of the attention variant as it stands in the catalog");
	measure(table, "count",
		"Number of parameters in all attention modules of the model together", "",
		AL_QUANTITY_COUNT);
	for (int i = 0; i < 24; i++) {
		char name[40];
		struct al_cell *row = al_table_add_row(table);
		snprintf(name, sizeof(name), "grouped-query attention %d", i + 1);
		al_cell_set_text(table, &row[0], name);
		al_cell_set_int(table, &row[1], 1000000 * (24 - i));
	}
}

/* Two series of equal values, few of them. */
static void fill_equal(struct al_table *table)
{
	key(table, "x", "Layer");
	key(table, "name", "Name");
	measure(table, "y", "Rank", "", AL_QUANTITY_PLAIN);
	for (int i = 0; i < 12; i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_int(table, &row[0], i % 6);
		al_cell_set_text(table, &row[1], i < 6 ? "query" : "key");
		al_cell_set_int(table, &row[2], 40 + (i % 6) * (i % 6));
	}
}

static struct al_reference_line full_rank[] = {{64, "d_head = 64"}};

static struct al_reference_line budgets[] = {{85899345920, "80 GiB (H100)"},
	{25769803776, "24 GiB"}};

static struct al_reference_line small_budget[] = {{67108864, "64 MiB"}};

static const struct al_wished_tick captured_ticks[] = {{0, NULL}, {.5, NULL}, {.9, NULL},
	{1, NULL}};
static const char *const beneath_strands[] = {"panel", "of", "strand", "y"};
static const char *const null_band[] = {"null"};

/* 10 +- 2 and 5 +- 1. */
static void fill_spreads(struct al_table *table)
{
	al_table_add_column(table, (struct al_column){.key = "x", .is_key = true});
	al_table_add_column(table, (struct al_column){.key = "score", .digits = AL_DIGITS_ALL});
	for (int64_t i = 1; i <= 2; i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[0], i == 1 ? "a" : "b");
		al_cell_set_int(table, &row[1], 10 / i);
		row[1].spread = al_exact_from_int(&table->arena, 2 / i);
	}
}

/* Four low values and a high one; an exact 1/3 among them. */
static void fill_outlier(struct al_table *table)
{
	static const double low[] = {20.1, 20.4, 21.2, 19.8};
	mpq_t third;

	key(table, "name", "Variant");
	measure(table, "perplexity", "Perplexity", "", AL_QUANTITY_PLAIN);
	for (size_t i = 0; i < 4; i++) {
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_text(table, &row[0], variants[i]);
		al_cell_set_real(&row[1], low[i]);
	}
	struct al_cell *row = al_table_add_row(table);
	al_cell_set_text(table, &row[0], "random");
	al_cell_set_real(&row[1], 87.5);
	row = al_table_add_row(table);
	al_cell_set_text(table, &row[0], "third");
	mpq_init(third);
	mpq_set_ui(third, 40, 3);
	al_cell_set_exact(table, &row[1], third);
	mpq_clear(third);
}

/* x from 1 to 9, of which 4 has no band. */
static void fill_bands(struct al_table *table)
{
	key(table, "x", "x");
	key(table, "name", "Name");
	measure(table, "y", "y", "", AL_QUANTITY_PLAIN);
	measure(table, "low", "Low", "", AL_QUANTITY_PLAIN);
	measure(table, "high", "High", "", AL_QUANTITY_PLAIN);
	for (int i = 0; i < 18; i++) {
		const double y = (i % 9 + 1) * (i < 9 ? 1 : 3);
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_int(table, &row[0], i % 9 + 1);
		al_cell_set_text(table, &row[1], i < 9 ? "low" : "high");
		al_cell_set_real(&row[2], y);
		if (i % 9 == 3)
			continue;
		al_cell_set_real(&row[3], 0.9 * y);
		al_cell_set_real(&row[4], 1.2 * y);
	}
}

static const struct al_band column_band[] = {{.low = "low", .high = "high"}};
static const struct al_band series_band[] = {{.one = "high", .other = "low"}};

static const struct al_ratio outlier_ratios[] = {
	{{.x = "random"}, {.x = "third"}, 4},
	{{.x = "random"}, {.x = "MHA"}, 2},
};
static const struct al_ratio stack_ratio[] = {{{.x = "MHA"}, {.x = "SHA"}, 2}};
static const struct al_ratio line_ratio[] = {
	{{.x_value = 100, .series = "MHA"}, {.x_value = 100, .series = "EL-ATT"}, 1}};

const struct figure_case figure_cases[] = {
	{"mhe-figure-1", fill_figure_3,
		.figure = {.mark = "line", .x = {.column = "n_heads"}, .series = "variant"}},
	{"mhe-figure-3-log", fill_figure_3,
		.figure = {.mark = "line",
			.series = "variant",
			.x = {.column = "n_heads", .scale = AL_AXIS_LOG},
			.y = {.column = "parameters", .scale = AL_AXIS_LOG}}},
	{"mhe-figure-3-semilog", fill_figure_3,
		.figure = {.mark = "line",
			.series = "variant",
			.x = {.column = "n_heads"},
			.y = {.column = "parameters", .scale = AL_AXIS_LOG}}},
	{"mhe-figure-3-legend", fill_figure_3,
		.figure = {.mark = "line",
			.series = "variant",
			.title = "Parameters of one attention sublayer against its heads",
			.width_pt = 504,
			.height_pt = 240,
			.x = {.column = "n_heads"},
			.legend = true}},
	{"mhe-figure-4", fill_figure_4,
		.figure = {.mark = "bar",
			.x = {.column = "n_layers"},
			.y = {.column = "parameters"},
			.series = "variant",
			.panel = "n_heads"}},
	{"mhe-figure-4-page", fill_figure_4,
		.figure = {.mark = "bar",
			.x = {.column = "n_layers"},
			.y = {.column = "parameters"},
			.series = "variant",
			.panel = "n_heads",
			.width_pt = 504,
			.height_pt = 200}},
	{"lying", fill_figure_4,
		.figure = {.mark = "bar",
			.x = {.column = "n_layers"},
			.y = {.column = "parameters"},
			.series = "variant",
			.panel = "n_heads",
			.is_horizontal = true,
			.writes_values = true,
			.width_pt = 504},
		.is_hard = true},
	{"lying-references", fill_table_13,
		.figure = {.mark = "bar",
			.x = {.column = "variant"},
			.n_stacked = 4,
			.stacked = (const char *const[]){"weights", "gradients", "optimizer",
				"activations"},
			.references = small_budget,
			.n_references = 1,
			.is_horizontal = true,
			.writes_values = true},
		.is_hard = true},
	{"lying-negative", fill_negative,
		.figure = {.mark = "bar",
			.x = {.column = "x"},
			.y = {.column = "change"},
			.is_horizontal = true,
			.writes_values = true},
		.is_hard = true},
	{"lying-names", fill_names,
		.figure = {.mark = "bar",
			.x = {.column = "name"},
			.series = "name",
			.is_horizontal = true},
		.is_hard = true},
	{"values", fill_spreads,
		.figure = {.mark = "bar",
			.x = {.column = "x"},
			.y = {.column = "score"},
			.writes_values = true},
		.is_hard = true},
	{"free-axes", fill_figure_4,
		.figure = {.mark = "bar",
			.x = {.column = "n_layers"},
			.y = {.column = "parameters", .is_free = true},
			.series = "variant",
			.panel = "n_heads",
			.panels_a_row = 1}},
	{"table-13", fill_table_13,
		.figure = {.mark = "bar",
			.x = {.column = "variant"},
			.y = {.title = "Training memory"},
			.n_stacked = 4,
			.stacked = (const char *const[]){"weights", "gradients", "optimizer",
				"activations"}}},
	{"scores", fill_scores,
		.figure = {.mark = "point",
			.x = {.column = "parameters"},
			.y = {.column = "glue"},
			.label = "variant"}},
	{"bleu", fill_bleu,
		.figure = {.mark = "line",
			.x = {.column = "d_k", .scale = AL_AXIS_LOG},
			.y = {.column = "bleu"},
			.series = "attention"}},
	{"cache", fill_memory,
		.figure = {.mark = "line",
			.x = {.column = "seq", .scale = AL_AXIS_LOG},
			.y = {.column = "cache", .scale = AL_AXIS_LOG},
			.series = "variant",
			.references = budgets,
			.n_references = 2}},
	{"negative", fill_negative,
		.figure = {.mark = "bar", .x = {.column = "x"}, .y = {.column = "change"}}},
	{"spreads", fill_spreads,
		.figure = {.mark = "bar", .x = {.column = "x"}, .y = {.column = "score"}}},
	{"crowd", fill_crowd,
		.figure = {.mark = "point",
			.x = {.column = "x"},
			.y = {.column = "y"},
			.series = "kind",
			.label = "name"},
		.is_hard = true},
	{"names", fill_names, .figure = {.mark = "bar", .x = {.column = "name"}}, .is_hard = true},
	{"log-bars", fill_figure_4,
		.figure = {.mark = "bar",
			.x = {.column = "n_layers"},
			.series = "variant",
			.y = {.column = "parameters", .scale = AL_AXIS_LOG},
			.panel = "n_heads",
			.width_pt = 504,
			.height_pt = 180}},
	{"log-powers", fill_powers,
		.figure = {.mark = "bar",
			.x = {.column = "name"},
			.y = {.column = "value", .scale = AL_AXIS_LOG}}},
	{"equal", fill_equal,
		.figure = {.mark = "line",
			.x = {.column = "x"},
			.series = "name",
			.references = full_rank,
			.n_references = 1}},
	{"clipped", fill_figure_3,
		.figure = {.mark = "line",
			.x = {.column = "n_heads", .has_max = true, .max = 64},
			.y = {.column = "parameters", .has_max = true, .max = 3e7},
			.series = "variant"}},
	{"strands", fill_strands,
		.figure = {.mark = "line",
			.x = {.column = "x", .is_free = true},
			.y = {.column = "y",
				.has_min = true,
				.has_max = true,
				.max = 1,
				.ticks = captured_ticks,
				.n_ticks = 4},
			.series = "of",
			.strands = {.column = "strand", .bands = null_band, .n_bands = 1},
			.panel = "panel",
			.width_pt = 504,
			.height_pt = 180}},
	{"beneath", fill_strands,
		.figure = {.mark = "line",
			.x = {.column = "x"},
			.y = {.column = "y"},
			.series = "of",
			.strands = {.column = "strand"},
			.panel = "panel",
			.beneath = beneath_strands,
			.n_beneath = 4,
			.width_pt = 504,
			.height_pt = 180}},
	{"outlier", fill_outlier,
		.figure = {.mark = "bar",
			.x = {.column = "name"},
			.y = {.column = "perplexity"},
			.ratios = outlier_ratios,
			.n_ratios = 2},
		.is_hard = true},
	{"inset", fill_figure_3,
		.figure = {.mark = "line",
			.x = {.column = "n_heads"},
			.series = "variant",
			.inset = {.is_drawn = true, .x_min = 1, .x_max = 12}}},
	{"inset-of-points", fill_scores,
		.figure = {.mark = "point",
			.x = {.column = "parameters"},
			.y = {.column = "glue", .has_min = true, .min = 78},
			.label = "variant",
			.width_pt = 504,
			.inset = {.is_drawn = true,
				.x_min = 8.85e6,
				.x_max = 9.2e6,
				.has_y = true,
				.y_min = 80.3,
				.y_max = 80.8}},
		.is_hard = true},
	{"bands", fill_bands,
		.figure = {.mark = "line",
			.x = {.column = "x"},
			.y = {.column = "y"},
			.series = "name",
			.bands = column_band,
			.n_bands = 1}},
	{"band-between", fill_bands,
		.figure = {.mark = "line",
			.x = {.column = "x"},
			.y = {.column = "y"},
			.series = "name",
			.bands = series_band,
			.n_bands = 1}},
	{"ratio-of-stacks", fill_table_13,
		.figure = {.mark = "bar",
			.x = {.column = "variant"},
			.n_stacked = 4,
			.stacked = (const char *const[]){"weights", "gradients", "optimizer",
				"activations"},
			.ratios = stack_ratio,
			.n_ratios = 1},
		.is_hard = true},
	{"ratio-of-lines", fill_figure_3,
		.figure = {.mark = "line",
			.x = {.column = "n_heads"},
			.series = "variant",
			.ratios = line_ratio,
			.n_ratios = 1}},
	{"long", fill_long,
		.figure = {.mark = "line", .x = {.column = "n_heads"}, .series = "variant"}},
};

const size_t n_figure_cases = sizeof(figure_cases) / sizeof(*figure_cases);

const struct figure_case *figure_case_open(const char *id, struct al_table *table)
{
	for (size_t i = 0; i < n_figure_cases; i++)
		if (strcmp(figure_cases[i].id, id) == 0) {
			al_table_init(table, id, id);
			figure_cases[i].fill(table);
			return &figure_cases[i];
		}
	return NULL;
}
