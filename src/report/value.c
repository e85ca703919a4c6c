/* value: the number that the claim is about, alone and exact, for scripts; nothing where it has
 * none. */
#include "report/claim.h"
#include "report/writer.h"

static void write_all(const struct al_style *style, const struct al_table *const *tables,
	size_t n_tables, struct al_text *out)
{
	(void)tables;
	(void)n_tables;
	if (style->claim && style->claim->lead)
		al_text_addf(out, "%s\n", style->claim->lead->value);
}

const struct al_writer al_writer_value = {
	.name = "value",
	.extension = "value",
	.write_all = write_all,
};
