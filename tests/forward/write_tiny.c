/* write-tiny CASE FOLDER: the checkpoint of a case, for reference.py. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/forward/tiny.h"

int main(int argc, char **argv)
{
	struct test_folder folder;

	if (argc != 3) {
		fprintf(stderr, "usage: %s CASE FOLDER\n", argv[0]);
		return EXIT_FAILURE;
	}
	struct tiny *tiny = tiny_read(argv[1]);
	snprintf(folder.path, sizeof(folder.path), "%s", argv[2]);
	tiny_write(tiny->state_dict, tiny->more, &folder);
	tiny_finish(tiny);
	return EXIT_SUCCESS;
}
