/* Modules of the full program: attnledger-NAME.so in its folder. What they link is slow to load,
 * and most answers don't need it. */
#pragma once

#include "figure/figure.h"
#include "formats/archive.h"

struct al_module {
	void (*guard)(al_memory_handler *handler); /* a module asks for memory by itself */
	/* figures */
	bool (*draw)(const struct al_figure *figure, const struct al_table *table,
		enum al_figure_format format, struct al_text *out, struct al_error *err);
	bool (*caption)(const struct al_figure *figure, const struct al_table *table,
		struct al_text *out, struct al_error *err);
	/* archives */
	bool (*open_shard)(struct al_listing *listing, struct al_error *err);
};

extern const struct al_module al_module;
