/* Figures as files: the same bytes each time, fonts in a PDF, the resolution of a PNG; and what is
 * refused. */
#include "unit.h"

#define ZLIB_CONST
#include <zlib.h>

#include "drawing.h"

/* ---- bytes ---- */

/* A PDF and an SVG of every case; a PNG, whose pixels take longest, of the first with each mark. */
static int n_formats(size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(figure_cases[i].figure.mark, figure_cases[index].figure.mark) == 0)
			return AL_FIGURE_PNG;
	return AL_FIGURE_PNG + 1;
}

static void same_input_gives_same_bytes(void **state)
{
	struct al_text first[64][3];

	(void)state;
	assert_true(n_figure_cases <= 64);
	for (int round = 0; round < 2; round++)
		for (size_t k = 0; k < n_figure_cases; k++) {
			/* the second time in the other order */
			size_t i = round ? n_figure_cases - 1 - k : k;
			struct al_table table;
			const struct figure_case *c = figure_case_open(figure_cases[i].id, &table);
			for (int format = 0; format < n_formats(i); format++) {
				struct al_text again;
				draw_case(c, &table, (enum al_figure_format)format,
					round ? &again : &first[i][format]);
				if (round == 0)
					continue;
				assert_int_equal(again.length, first[i][format].length);
				assert_memory_equal(again.data, first[i][format].data,
					again.length);
				al_text_finish(&again);
				al_text_finish(&first[i][format]);
			}
			al_table_finish(&table);
		}
}

static bool holds_bytes(const struct al_text *text, const char *wanted)
{
	size_t length = strlen(wanted);

	for (size_t i = 0; i + length <= text->length; i++)
		if (memcmp(text->data + i, wanted, length) == 0)
			return true;
	return false;
}

static void inflate_stream(struct al_text *out, const char *from, size_t length)
{
	z_stream z = {.next_in = (const unsigned char *)from, .avail_in = (unsigned)length};
	unsigned char piece[4096];
	int status = inflateInit(&z);

	while (status == Z_OK) {
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		status = inflate(&z, Z_NO_FLUSH);
		al_text_add_bytes(out, (const char *)piece, sizeof(piece) - z.avail_out);
	}
	inflateEnd(&z);
}

/* The PDF and what its compressed streams hold: newer cairos keep objects in them. */
static void read_pdf(struct al_text *out, const struct al_text *pdf)
{
	static const char begin[] = "stream\n";

	al_text_init(out);
	al_text_add_bytes(out, pdf->data, pdf->length);
	for (size_t i = 0; i + strlen(begin) <= pdf->length; i++)
		if (memcmp(pdf->data + i, begin, strlen(begin)) == 0)
			inflate_stream(out, pdf->data + i + strlen(begin),
				pdf->length - i - strlen(begin));
}

static void pdf_embeds_outline_fonts(void **state)
{
	struct al_table table;
	struct al_text file, pdf;

	(void)state;
	draw_case(figure_case_open("mhe-figure-3-legend", &table), &table, AL_FIGURE_PDF, &file);
	assert_memory_equal(file.data, "%PDF-1.", 7);
	read_pdf(&pdf, &file);
	al_text_finish(&file);
	assert_true(holds_bytes(&pdf, "/FontFile2"));
	assert_true(holds_bytes(&pdf, "+DejaVuSans"));
	assert_false(holds_bytes(&pdf, "/Type3"));
	/* cairo 1.18 leaves "D:" out and writes seconds */
	assert_true(holds_bytes(&pdf, "/CreationDate ("));
	assert_true(holds_bytes(&pdf, "200001010000"));
	al_text_finish(&pdf);
	al_table_finish(&table);
}

static uint32_t big_endian(const char *bytes)
{
	const unsigned char *b = (const unsigned char *)bytes;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Signature, IHDR (13 bytes of data, 12 around them), pHYs: 300 dpi are 11811 pixels a metre. */
static void png_has_300_dpi(void **state)
{
	struct al_table table;
	struct al_text png;

	(void)state;
	draw_case(figure_case_open("mhe-figure-1", &table), &table, AL_FIGURE_PNG, &png);
	assert_memory_equal(png.data, "\x89PNG\r\n\x1a\n", 8);
	assert_int_equal(big_endian(png.data + 16), 1000);
	assert_int_equal(big_endian(png.data + 20), 679);
	assert_memory_equal(png.data + 37, "pHYs", 4);
	assert_int_equal(big_endian(png.data + 41), 11811);
	assert_int_equal(big_endian(png.data + 45), 11811);
	al_text_finish(&png);
	al_table_finish(&table);
}

/* ---- refusals ---- */

static const struct al_band two_bands[] = {{.low = "low", .high = "high"},
	{.low = "low", .high = "y"}};
static const struct al_band own_band[] = {{.one = "high", .other = "high"}};
static const struct al_band apart_band[] = {{.one = "MHA", .other = "SKV"}};
static const struct al_ratio no_number[] = {{{.x_value = 20}, {.x_value = 0}, 1}};
static const struct al_ratio beyond_axes[] = {{{.x_value = 60}, {.x_value = 0}, 1}};
static const struct al_ratio one_ratio[] = {{{.x = "random"}, {.x = "third"}, 6}};
static struct al_reference_line long_reference[] = {
	{5, "a reference line with a label that is longer than the whole figure is wide"}};
#define INSET \
	{ \
		.is_drawn = true, .x_min = 1, .x_max = 2 \
	}

/* Lines over one another in the axes that `given` sets. */
#define BANDED(...) \
	{ \
		.mark = "line", .x = {.column = "x"}, .y = {.column = "y"}, .series = "name", \
		__VA_ARGS__ \
	}

static const struct refusal {
	const char *of;
	struct al_figure figure;
	const char *message;
} refusals[] = {
	{"mhe-figure-1", {.mark = "lines"}, "unknown mark \"lines\" (did you mean \"line\"?)"},
	{"mhe-figure-1", {.mark = "line", .y = {.column = "parameter"}},
		"unknown column \"parameter\" (did you mean \"parameters\"?)"},
	{"mhe-figure-1", {.mark = "line", .x = {.column = "n_heads"}, .y = {.column = "variant"}},
		"nothing to draw: no row has numbers for both axes"},
	{"mhe-figure-1", {.mark = "bar", .x = {.column = "n_heads"}}, "two rows (1 and 129) for 1"},
	{"mhe-figure-1", {.mark = "line", .label = "variant"},
		"\"label\" needs the mark point, found line"},
	{"mhe-figure-1", {.mark = "line", .width_pt = 71},
		"a figure's width is 71 pt, expected 72 to 1440"},
	{"mhe-figure-1", {.mark = "line", .width_pt = 1441},
		"a figure's width is 1441 pt, expected 72 to 1440"},
	{"mhe-figure-1", {.mark = "line", .height_pt = 71},
		"a figure's height is 71 pt, expected 72 to 1440"},
	{"mhe-figure-1", {.mark = "line", .height_pt = 1441},
		"a figure's height is 1441 pt, expected 72 to 1440"},
	{"mhe-figure-1", {.mark = "line", .series = "variant", .y = {.has_min = true, .min = 3e8}},
		"the y axis runs from 3e+08 to 2.01327e+08, expected a range upwards"},
	{"mhe-figure-1",
		{.mark = "line", .series = "variant", .y = {.scale = AL_AXIS_LOG, .has_min = true}},
		"the log y axis begins at 0, expected more than 0"},
	{"table-13",
		{.mark = "bar",
			.n_stacked = 1,
			.stacked = (const char *const[]){"weights"},
			.series = "variant"},
		"either \"stacked\" or \"series\" (\"variant\"), not both"},
	{"table-13",
		{.mark = "bar",
			.n_stacked = 1,
			.stacked = (const char *const[]){"weights"},
			.y = {.scale = AL_AXIS_LOG}},
		"stacked bars can't have a log axis"},
	{"negative", {.mark = "line", .x = {.column = "x"}, .y = {.scale = AL_AXIS_LOG}},
		"the log y axis has the value -9, expected only positive ones"},

	/* what a mark hasn't */
	{"table-13", {.mark = "line", .n_stacked = 1, .stacked = (const char *const[]){"weights"}},
		"\"stacked\" needs the mark bar, found line"},
	{"strands", {.mark = "bar", .strands = {.column = "strand"}},
		"strands need the mark line, found bar"},
	{"bands", {.mark = "point", .bands = own_band, .n_bands = 1},
		"\"bands\" need the mark line, found point"},
	{"bands", {.mark = "bar", .inset = INSET},
		"an inset needs the mark line or point, found bar"},
	{"bands", {.mark = "heatmap", .inset = INSET},
		"an inset needs the mark line or point, found heatmap"},
	{"bands", {.mark = "heatmap", .n_ratios = 1},
		"\"ratios\" need lines, bars or points, found heatmap"},
	{"bands", {.mark = "bar", .x = {.is_free = true}, .panel = "name"},
		"a free x axis needs the mark line or point, found bar"},
	{"bands", {.mark = "heatmap", .x = {.is_free = true}, .panel = "name"},
		"a free x axis needs the mark line or point, found heatmap"},
	{"bands", {.mark = "heatmap", .y = {.is_free = true}, .panel = "name"},
		"a free y axis needs lines, bars or points, found heatmap"},
	{"bands", {.mark = "line", .x = {.is_free = true}}, "a free axis needs \"panel\""},
	{"bands", {.mark = "heatmap", .x = {.scale = AL_AXIS_LOG}, .color = {.column = "low"}},
		"a heatmap can't have a log axis"},
	{"bands", {.mark = "heatmap", .y = {.scale = AL_AXIS_LOG}, .color = {.column = "low"}},
		"a heatmap can't have a log axis"},
	{"mhe-figure-1", {.mark = "line", .series = "n_heads"},
		"more than 64 series, too many to distinguish"},
	{"mhe-figure-1", {.mark = "line", .panel = "n_heads"},
		"more than 96 panels, too many to distinguish"},
	{"long", {.mark = "bar", .x = {.column = "n_heads"}},
		"more than 256 values side by side, too many to distinguish"},

	{"names", {.mark = "line", .series = "name"},
		"the table has no column left for the y axis"},
	{"names", {.mark = "line", .series = "name", .panel = "count"},
		"the table has no column left for the x axis"},

	/* bands, insets and ratios */
	{"bands", BANDED(.bands = two_bands, .n_bands = 2),
		"two bands of columns (the second from \"low\" to \"y\"); only one is possible"},
	{"bands", BANDED(.bands = own_band, .n_bands = 1), "a band between \"high\" and itself"},
	{"scores",
		{.mark = "line",
			.series = "variant",
			.x = {.column = "parameters"},
			.y = {.column = "glue"},
			.bands = apart_band,
			.n_bands = 1},
		"no band between \"MHA\" and \"SKV\": they share fewer than two values of x"},
	{"outlier", {.mark = "point", .inset = INSET}, "an inset needs numbers along x"},
	{"bands",
		{.mark = "line",
			.panel = "name",
			.x = {.column = "x"},
			.y = {.column = "y"},
			.inset = INSET},
		"an inset needs a figure of one panel"},
	{"bands", BANDED(.width_pt = 90, .height_pt = 90, .inset = INSET),
		"no room for the inset: use a larger figure or wider axes"},
	{"negative", {.mark = "line", .x = {.column = "x"}, .ratios = no_number, .n_ratios = 1},
		"the ratio's end 20: found no number"},
	{"negative",
		{.mark = "line",
			.x = {.column = "x", .has_max = true, .max = 59},
			.ratios = beyond_axes,
			.n_ratios = 1},
		"the ratio 3.7× has an end beyond the axes' limits"},
	{"outlier",
		{.mark = "bar",
			.width_pt = 100,
			.height_pt = 130,
			.ratios = one_ratio,
			.n_ratios = 1},
		"no room for the ratio 6.562500×: use a larger figure"},

	/* text without room */
	{"mhe-figure-1", {.mark = "line", .series = "variant", .width_pt = 72, .height_pt = 72},
		"the text leaves no room to draw in 72 x 72 pt; use a larger figure"},
	{"bands", {.mark = "line", .panel = "low"},
		"the text leaves no room to draw in 240 x 336 pt with its panels side by side; use "
		"a larger figure"},
	{"names",
		{.mark = "line",
			.x = {.column = "count"},
			.y = {.column = "count"},
			.series = "name",
			.legend = true,
			.width_pt = 72},
		"the name \"grouped-query attention 1\" takes 118 pt in the legend, expected at "
		"most "
		"68"},
	{"bands",
		{.mark = "heatmap",
			.x = {.column = "x"},
			.y = {.column = "y"},
			.color = {.column = "low", .title = "a title that is wider than the page"},
			.width_pt = 72},
		"the colors' title \"a title that is wider than the page\" leaves no room for "
		"their "
		"bar"},
	{"bands", BANDED(.references = long_reference, .n_references = 1),
		"no room for the reference line's label \"a reference line with a label that is "
		"longer than the whole figure is wide\": use a larger figure"},
	{"crowd",
		{.mark = "point",
			.x = {.column = "x"},
			.y = {.column = "y"},
			.label = "name",
			.width_pt = 110},
		"no room for the label \"model-g\" among 14: use a larger figure or fewer labels"},
};

static void refuses_what_it_cannot_draw(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		struct al_figure figure = refusals[i].figure;
		struct al_error err = {0};
		struct al_table table;
		struct al_text text;
		char message[300];
		assert_non_null(figure_case_open(refusals[i].of, &table));
		figure.id = "f";
		al_text_init(&text);
		assert_false(al_figure_draw(&figure, &table, AL_FIGURE_PDF, &text, &err));
		snprintf(message, sizeof(message), "figure \"f\": %s", refusals[i].message);
		assert_string_equal(err.message, message);
		assert_int_equal(err.status, AL_EINPUT);
		assert_int_equal(text.length, 0);
		al_text_finish(&text);
		al_table_finish(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_input_gives_same_bytes),
		cmocka_unit_test(pdf_embeds_outline_fonts),
		cmocka_unit_test(png_has_300_dpi),
		cmocka_unit_test(refuses_what_it_cannot_draw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
