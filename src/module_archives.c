/* attnledger-archives.so: what reads zip archives. */
#include "module.h"

const struct al_module al_module = {.guard = al_memory_guard, .open_shard = al_archive_open_shard};
