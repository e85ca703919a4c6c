/* The page of formulas: what it is made of stands in explorer-live.html, what it does in
 * explorer.js. */
#include "report/page/explorer.h"

#include "base/embedded.h"

extern const struct al_embedded_list al_embedded_page;

static const char own[] = "explorer";

static void add_live(struct al_text *out)
{
	al_text_add(out, al_embedded_find(&al_embedded_page, "explorer-live")->text);
}

void al_explorer_page_write(const struct al_explorer_page *page, struct al_text *out)
{
	struct al_page_head head = page->head;

	head.own = own;
	al_page_begin(out, &head);
	add_live(out);
	al_text_addf(out, "<script type=\"application/json\" id=\"data\">%s</script>\n",
		page->data);
	al_page_begin_section(out, "formulas", "Formulas",
		"What the tensors of one attention block add up to, and what each token adds to "
		"its cache, with all options as their files have them.");
	al_page_add_table(out, &(struct al_page_table){.table = page->formulas, .caption = ""});
	al_page_end_section(out);
	al_page_end(out, &head, page->command, NULL);
}
