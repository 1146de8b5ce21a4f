// Stands in for an engine, a client or a downloader: records exactly what it was started with.
//
// The folder is fixed when it is compiled (-DRECORD='"..."'), because a clean environment has no
// place for it. Writes NAME.N.argv and NAME.N.env, each entry ended by a zero byte, where NAME is
// argv[0] without folders. Then, by what its arguments say:
//   engine (the name), serve=yes          starts a child, answers 503 twice and then 200 on --port
//   exit=N                                ends with N
//   sleep=N                               sleeps N seconds
//   result=PATH                           writes a result file
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char base[4096];

static void put(const char *kind, char **entries) {
    char path[8192];
    snprintf(path, sizeof path, "%s.%s", base, kind);
    FILE *out = fopen(path, "w");
    if (!out) { perror(path); exit(97); }
    for (; *entries; entries++) fwrite(*entries, 1, strlen(*entries) + 1, out);
    fclose(out);
}

static void ended(int number) {
    char path[8192];
    snprintf(path, sizeof path, "%s.ended", base);
    close(open(path, O_CREAT | O_WRONLY, 0644));
    _exit(128 + number == 143 ? 0 : 128 + number);
}

static const char *value(char **argv, const char *name) {
    size_t size = strlen(name);
    for (; *argv; argv++) {
        if (!strncmp(*argv, name, size) && (*argv)[size] == '=') return *argv + size + 1;
        if (!strcmp(*argv, name) && argv[1]) return argv[1];
    }
    return 0;
}

static void serve(int port) {
    int one = 1, here = socket(AF_INET, SOCK_STREAM, 0), answered = 0;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_ANY)};
    setsockopt(here, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(here, (struct sockaddr *)&at, sizeof at) || listen(here, 16)) { perror("listen"); exit(98); }
    for (;;) {
        int there = accept(here, 0, 0);
        if (there < 0) continue;
        char request[4096] = {0};
        if (read(there, request, sizeof request - 1) < 0) { close(there); continue; }
        const char *answer = !strncmp(request, "GET /health ", 12) && answered++ >= 2
            ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            : "HTTP/1.1 503 Loading\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        if (write(there, answer, strlen(answer)) < 0) perror("write");
        close(there);
    }
}

int main(int count, char **argv, char **environment) {
    (void)count;
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    for (int number = 0;; number++) {
        snprintf(base, sizeof base, "%s/%s.%d", RECORD, name, number);
        char path[8192];
        snprintf(path, sizeof path, "%s.pid", base);
        int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
        if (file < 0) {
            if (number > 999) { perror(path); return 96; }
            continue;
        }
        dprintf(file, "%d", getpid());
        close(file);
        break;
    }
    put("argv", argv);
    put("env", environment);
    signal(SIGTERM, ended);
    const char *text;
    for (char **word = argv; *word; word++) {
        if (strncmp(*word, "result=", 7)) continue;
        FILE *out = fopen(*word + 7, "w");
        if (!out) { perror(*word); return 95; }
        fputs("{\"measured\": true}\n", out);
        fclose(out);
    }
    if ((text = value(argv, "sleep"))) sleep(atoi(text));
    // A test may say in the file `server` which command line serves (its first three words) and where.
    char told[4096] = {0}, mine[4096] = {0}, path[8192];
    int server = !strcmp(name, "engine") || value(argv, "serve"), port = 8888;
    snprintf(path, sizeof path, "%s/server", RECORD);
    FILE *in = fopen(path, "r");
    if (in) {
        if (fscanf(in, "%d %4095[^\n]", &port, told) != 2) return 93;
        fclose(in);
        for (int at = 0; at < 3 && argv[at]; at++) {
            if (at) strncat(mine, " ", sizeof mine - strlen(mine) - 1);
            strncat(mine, at ? argv[at] : name, sizeof mine - strlen(mine) - 1);
        }
        server |= !strcmp(told, mine);
    }
    if (server && !value(argv, "exit")) {
        // A worker of the engine, in its group: it must not outlive the run either.
        if (!fork()) { signal(SIGTERM, SIG_DFL); execl("/proc/self/exe", "worker", "sleep=1000", (char *)0); _exit(94); }
        if (value(argv, "die")) { sleep(atoi(value(argv, "die"))); return 3; }
        const char *given = value(argv, "--port");
        serve(given && !*told ? atoi(given) : port);
    }
    text = value(argv, "exit");
    return text ? atoi(text) : 0;
}
