#include "paper/left.h"

#include <ctype.h>

#include "paper/words.h"

enum { PLAIN_BITS = 1, IS_LEFT = 2, IS_OF_BITS = 4 };

/* Bits; 0: no number format and no share, as of "2x" alone, which says it already. */
static double bits_of(const char *text, int reading)
{
	double sum = 0, share = 1, value;
	size_t n_formats = 0, n_shares = 0;
	int digits;

	for (const char *p = text; *p;) {
		size_t n = al_paper_format_at(text, p, &value);
		if (n > 0) {
			sum += reading & PLAIN_BITS && strchr("qQ", *p) ? p[1] - '0' : 8 * value;
			n_formats++;
			p += n;
			continue;
		}
		const bool is_inside = p > text && isalnum((unsigned char)p[-1]);
		n = is_inside ? 0 : al_number_read(p, &value, &digits);
		p += al_most(n, 1);
		if (n == 0 || !(value > 0))
			continue;
		if ((*p == '%' && value < 100) || value < 1) {
			const double part = *p == '%' ? value / 100 : value;
			share *= reading & IS_LEFT ? part : 1 - part;
			n_shares++;
		} else if (*p == 'x' || strncmp(p, "\u00d7", 2) == 0)
			share /= value;
	}
	if (n_formats + n_shares == 0 || n_formats > 2) /* keys and values have two */
		return 0;
	return share * (n_formats > 0 ? sum / (double)n_formats : 16);
}

/* By the first cell that gives bits: a text, or a number in a column of bits; or by these alone. */
static void read_row(struct al_paper_number *out, const struct al_paper_grid *g, size_t row,
	int reading)
{
	const struct al_paper_sheet *s = g->sheet;
	const size_t n = g->is_turned ? 1 : g->n_columns;

	*out = (struct al_paper_number){0};
	for (size_t k = 0; k < n && out->half == 0; k++) {
		const struct al_paper_number *cell = al_paper_grid_at(g, row, k);
		const bool is_bits = !g->is_turned && cell->half > 0
			&& s->heads[k].meaning == AL_MEANS_FORMAT;
		out->text = g->is_turned ? g->labels[row]
					 : al_paper_row_text(&s->table->rows[s->n_heads + row], k);
		if (is_bits)
			*out = *cell;
		else if (g->is_turned || (cell->half == 0 && !(reading & IS_OF_BITS)))
			out->value = bits_of(out->text, reading);
		out->half = !is_bits && out->value > 0 ? 1e-9 : out->half;
	}
}

void al_paper_left_read(struct al_paper_number *out, const struct al_paper_grid *g, int reading)
{
	for (size_t i = 0; i < g->n_rows; i++)
		read_row(&out[i], g, i, reading);
}
