/* Answers each line with CLOCK_MONOTONIC in ns. */
#include <stdio.h>
#include <time.h>

int main(void) {
    for (int letter; (letter = getchar()) != EOF;) {
        if (letter != '\n') continue;
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
        fflush(stdout);
    }
    return 0;
}
