/* See terminal.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/cli/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_is_utf8(void)
{
    /* Character types only: numbers keep their decimal point. */
    return setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int terminal_columns(int descriptor, int otherwise)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

bool terminal_is_foreground(int descriptor)
{
    return isatty(descriptor) && tcgetpgrp(descriptor) == getpgrp();
}
