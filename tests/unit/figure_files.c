/* Figures as files: the same bytes each time, fonts in a PDF, the resolution of a PNG; and what is
 * refused. */
#include "unit.h"

#define ZLIB_CONST
#include <zlib.h>

#include "drawing.h"

/* ---- bytes ---- */

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
			for (int format = 0; format < 3; format++) {
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
	{"mhe-figure-1", {.mark = "line", .width_pt = 5000},
		"a figure's width is 5000 pt, expected 72 to 1440"},
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
