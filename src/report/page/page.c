/* The frame of a page. */
#include "report/page/page.h"

#include "base/embedded.h"
#include "attnledger.h"

extern const struct al_embedded_list al_embedded_page;

const struct al_style al_page_style = {.units = AL_UNITS_DEFAULT};

/* ---- head ---- */

static const struct al_embedded *file(const char *name)
{
	return al_embedded_find(&al_embedded_page, name);
}

/* The SHA-256 of each in base 64, as a policy names a script or a style that may be in the page. */
static const struct {
	const char *name, *digest;
} digests[] = {
#include "digests.inc"
};

static void add_source(struct al_text *out, const struct al_embedded *text)
{
	for (size_t i = 0; i < sizeof(digests) / sizeof(*digests); i++)
		if (strcmp(digests[i].name, text->name) == 0)
			al_text_addf(out, " 'sha256-%s'", digests[i].digest);
}

/* Nothing is fetched and nothing runs but these texts, whatever else got into the page. */
static void add_policy(struct al_text *out, const struct al_page_head *head)
{
	al_text_add(out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src");
	add_source(out, file("style"));
	al_text_add(out, "; script-src");
	add_source(out, file("script"));
	al_text_addf(out, "; %sbase-uri 'none'; form-action 'none'\">\n",
		head->has_pictures ? "img-src data:; " : "");
}

static void add_facts(struct al_text *out, const struct al_texts *facts)
{
	al_text_add(out, "<p class=\"facts\">");
	for (size_t i = 0; i < facts->n; i++)
		al_html_addf(out, "%s<span>%s</span>", i ? " \302\267 " : "", facts->items[i]);
	al_text_add(out, "</p>");
}

void al_page_begin(struct al_text *out, const struct al_page_head *head)
{
	al_text_add(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
	add_policy(out, head);
	al_html_addf(out,
		"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<title>%s \342\200\223 attnledger</title>\n",
		head->title);
	al_text_addf(out, "<style>%s</style>\n", file("style")->text);
	al_html_addf(out, "</head>\n<body><main>\n<header><h1>%s</h1>", head->title);
	add_facts(out, &head->facts);
	al_text_add(out, "<button id=\"theme\" hidden>Light or dark</button></header>\n");
	if (head->summary) {
		al_text_add(out, "<p class=\"lead\">");
		al_page_add_claim(out, head->summary);
		al_text_add(out, "</p>\n");
	}
}

/* ---- sections ---- */

void al_page_begin_section(struct al_text *out, const char *id, const char *title, const char *text)
{
	al_html_addf(out, "<section id=\"%s\"><h2>%s</h2>", id, title);
	if (text)
		al_html_addf(out, "<p>%s</p>", text);
	al_text_add(out, "\n");
}

void al_page_end_section(struct al_text *out)
{
	al_text_add(out, "</section>\n");
}

static void add_value(struct al_text *out, const struct al_answer_value *value)
{
	al_html_addf(out, "<data value=\"%s\"", value->value);
	if (value->table)
		al_html_addf(out, " data-cell=\"%s/%zu/%s\"", value->table, value->row, value->key);
	else
		al_html_addf(out, " data-name=\"%s\"", value->name);
	if (*value->unit)
		al_html_addf(out, " data-unit=\"%s\"", value->unit);
	al_html_addf(out, ">%s</data>", value->text);
}

void al_page_add_claim(struct al_text *out, const char *pattern)
{
	struct al_claim claim = {0};
	size_t at = 0;

	AL_ARENA(arena);
	al_claim_read(&claim, &arena, pattern);
	for (size_t i = 0; i < claim.n_values; i++) {
		const struct al_answer_value *value = &claim.values[i];
		al_html_add_prose(out, al_strndup(&arena, claim.text + at, claim.starts[i] - at));
		add_value(out, value);
		at = claim.starts[i] + strlen(value->text);
	}
	al_html_add_prose(out, claim.text + at);
}

void al_page_tiles(struct al_text *out, const struct al_page_tile *tiles, size_t n)
{
	al_text_add(out, "<div class=\"tiles\">");
	for (size_t i = 0; i < n; i++) {
		al_text_add(out, "<div><b>");
		al_page_add_claim(out, tiles[i].number);
		al_text_add(out, "</b><span>");
		al_page_add_claim(out, tiles[i].text);
		al_text_add(out, "</span></div>");
	}
	al_text_add(out, "</div>\n");
}

void al_page_command(struct al_text *out, const char *line)
{
	al_html_addf(out,
		"<div class=\"command\"><pre tabindex=\"0\">%s</pre>"
		"<button class=\"copy\" hidden>Copy</button></div>\n",
		line);
}

void al_page_glossary(struct al_text *out, const struct al_page_term *terms, size_t n)
{
	al_page_begin_section(out, "glossary", "Words", NULL);
	al_text_add(out, "<dl class=\"glossary\">\n");
	for (size_t i = 0; i < n; i++)
		al_html_addf(out, "<dt>%s</dt><dd>%s</dd>\n", terms[i].term, terms[i].meaning);
	al_text_add(out, "</dl>");
	al_page_end_section(out);
}

/* ---- end ---- */

void al_page_end(struct al_text *out, const char *command, const struct al_table *noted)
{
	al_page_begin_section(out, "made", "How this was made", NULL);
	al_page_command(out, command);
	al_text_add(out, "<ul>\n");
	for (size_t i = 0; noted && i < noted->n_notes; i++) {
		al_text_add(out, "<li>");
		al_html_add_prose(out, noted->notes[i]);
		al_text_add(out, "\n");
	}
	al_text_addf(out, "<li>attnledger %s\n</ul>", al_version());
	al_page_end_section(out);
	al_text_addf(out, "</main>\n<script>%s</script>\n</body></html>\n", file("script")->text);
}
