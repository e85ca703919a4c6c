/* Figures and proofs for venues. */
#include "answer/venue.h"

#include "report/latex_grid.h"

static const double tex_pt = 72 / 72.27; /* in points of 72 to the inch */

/* ---- figures ---- */

static double page_width(const struct al_profile *profile)
{
	return floor(profile->page_pt * tex_pt);
}

static double width_for(const struct al_profile *profile, const struct al_figure *figure)
{
	/* in one column a figure of a column's width would be as wide as the page, and too high */
	const double page = page_width(profile),
		     column = al_profile_has_columns(profile) ? floor(profile->column_pt * tex_pt)
							      : AL_FIGURE_COLUMN_PT;

	if (figure->width_pt == 0 || figure->width_pt == AL_FIGURE_COLUMN_PT)
		return column;
	return al_least(figure->width_pt, page);
}

bool al_venue_fit(const struct al_profile *profile, const struct al_figure *figure,
	const struct al_table *table, struct al_figure *out, struct al_error *err)
{
	const struct al_figure wanted = *figure;

	*out = wanted;
	if (!profile)
		return true;
	const double width = width_for(profile, &wanted), page = page_width(profile);
	const struct {
		double width_pt, height_pt;
		bool has_small_type;
	} attempts[] = {{width, wanted.height_pt, false}, {width, 0, false}, {width, 0, true},
		{page, wanted.height_pt, false}, {page, 0, false}, {page, 0, true}};

	out->lettering.families = profile->families;
	out->lettering.n_families = profile->n_families;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		out->width_pt = attempts[i].width_pt;
		out->height_pt = attempts[i].height_pt;
		out->lettering.tick_pt = attempts[i].has_small_type ? 0 : profile->tick_pt;
		out->lettering.title_pt = attempts[i].has_small_type ? 0 : profile->title_pt;
		AL_TEXT(bytes);
		if (al_figure_draw(out, table, AL_FIGURE_PDF, &bytes, err))
			return true;
	}
	return false;
}

/* ---- environments ---- */

static bool is_wide(const struct al_profile *profile, const struct al_figure *figure)
{
	if (!profile)
		return figure->width_pt > 1.5 * AL_FIGURE_COLUMN_PT;
	return al_profile_has_columns(profile) && figure->width_pt > profile->column_pt * tex_pt;
}

bool al_venue_add_figure(struct al_files *files, const struct al_profile *profile,
	const struct al_figure *figure, const struct al_table *table, const char *folder,
	struct al_error *err)
{
	const char *star = is_wide(profile, figure) ? "*" : "";
	const char *name = al_format(files->arena, "%s-figure", figure->id);
	struct al_text *out = al_files_add(files, folder, name, "tex");

	AL_TEXT(caption);
	const bool ok = al_figure_caption(figure, table, &caption, err);
	al_text_addf(out, "\\begin{figure%s}\n\\centering%s\n\\includegraphics{%s.pdf}\n\\caption{",
		star, profile ? "\\sloppy" : "", figure->id);
	al_latex_add_escaped(out, ok ? al_printable(files->arena, caption.data) : "");
	al_text_addf(out, "}\n\\label{fig:%s}\n\\end{figure%s}\n", figure->id, star);
	return ok;
}

/* ---- proofs ---- */

void al_venue_add_proof(struct al_files *files, const struct al_profile *profile,
	const char *folder, const char *const *inputs, size_t n)
{
	struct al_text *out = al_files_add(files, folder, "proof", "tex");

	al_text_addf(out,
		"%% All tables and figures of this folder on pages of %s: pdflatex proof\n",
		profile->title);
	al_text_addf(out, "%s\n", profile->document);
	al_text_addf(out,
		"\\usepackage[textwidth=%.2fpt,textheight=%.2fpt,columnsep=%.2fpt,"
		"paperwidth=%.2fpt,paperheight=%.2fpt]{geometry}\n",
		profile->page_pt, profile->height_pt,
		al_most(profile->page_pt - 2 * profile->column_pt, 0), profile->page_pt + 120,
		profile->height_pt + 140);
	al_text_add(out,
		"\\usepackage{array,booktabs,graphicx,multirow,siunitx}\n\\begin{document}\n");
	for (size_t i = 0; i < n; i++)
		al_text_addf(out, "\\input{%s}\\clearpage\n", inputs[i]);
	al_text_add(out, "\\end{document}\n");
}
