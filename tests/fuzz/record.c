/* What a compressed checkpoint says of its compression, held against the original, under each
 * method. */
#include "documents/record.h"
#include "fuzz.h"

/* Reading all families takes its time, which is no input's. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	record_begin_once();
	return 0;
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_error err = {0};

	record_begin_once();
	for (int method = 0; method < AL_N_METHODS; method++)
		if (!parse_record((enum al_method)method, (const char *)data, size, &err))
			FUZZ_CHECK(err.status == AL_EINPUT && *err.message
				&& !strchr(err.message, '\n'));
	return 0;
}
