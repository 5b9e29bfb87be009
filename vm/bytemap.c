/* bytemap DEVICE SECONDS SEED [CONTROL]: random writes, reads, discards and zeroings of a block device, each held against a map of what it must contain.
   With the control socket of the server the device gets other sizes meanwhile; one of the kernel's NBD client is told by that client's ioctl. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/major.h>
#include <linux/nbd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;
static uint64_t draw(uint64_t below) { /* xorshift64* */
    state ^= state >> 12; state ^= state << 25; state ^= state >> 27;
    return (state * 0x2545F4914F6CDD1DULL >> 16) % below;
}
static int bad(const char *what, uint64_t at, uint64_t length) {
    printf("%s at byte %llu, length %llu\n", what, (unsigned long long)at, (unsigned long long)length);
    return 1;
}

/* Tells the server one line; whether it obeyed. */
static int tell(const char *control, uint64_t size) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    char line[256];
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(name.sun_path, control, sizeof name.sun_path - 1);
    if (connect(server, (struct sockaddr *)&name, sizeof name)) return 0;
    int length = snprintf(line, sizeof line, "resize %lluB\n", (unsigned long long)size);
    if (write(server, line, length) != length) return 0;
    length = read(server, line, sizeof line - 1);
    line[length > 0 ? length : 0] = 0;
    close(server);
    if (strncmp(line, "ok ", 3)) printf("%s", line);
    return !strncmp(line, "ok ", 3);
}

/* Gives the device another size; 0 when the kernel has it. Nobody is told of bytes that are not there. */
static int resize(int device, const char *control, uint64_t before, uint64_t size) {
    struct stat facts;
    uint64_t has = 0;
    fstat(device, &facts);
    int nbd = major(facts.st_rdev) == NBD_MAJOR;
    if (size > before && !tell(control, size)) return bad("not resized", 0, size);
    if (nbd && ioctl(device, NBD_SET_SIZE, size)) { perror("NBD_SET_SIZE"); return bad("not resized", 0, size); }
    if (size < before && !tell(control, size)) return bad("not resized", 0, size);
    ioctl(device, BLKGETSIZE64, &has);
    return has == size ? 0 : bad("the kernel has another size", has, size);
}

int main(int count, char **words) {
    if (count < 4 || count > 5) return 2;
    const char *control = count == 5 ? words[4] : 0;
    int device = open(words[1], O_RDWR | O_DIRECT);
    uint64_t size, most_size, done[6] = {0};
    int block;
    if (device < 0 || ioctl(device, BLKGETSIZE64, &size) || ioctl(device, BLKSSZGET, &block)) { perror(words[1]); return 2; }
    state = strtoull(words[3], 0, 10) * 2 + 1;
    const uint64_t most = 1 << 20;
    unsigned char *map = calloc(1, most_size = 2 * size), *buffer = mmap(0, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t whole[2] = {0, size};
    if (ioctl(device, BLKZEROOUT, whole)) { perror("BLKZEROOUT of everything"); return 1; }
    for (time_t end = time(0) + atoi(words[2]); time(0) < end;) {
        if (control && !draw(200)) {
            uint64_t other = most_size / 4 + most * draw(most_size / most * 3 / 4 + 1);
            if (resize(device, control, size, other)) return 1;
            if (other < size) memset(map + other, 0, size - other);
            size = other; done[5]++;
        }
        int kind = draw(8);
        uint64_t grain = kind == 6 ? 4096 : block; /* a discard of less than a granule need not do anything */
        uint64_t length = grain * (1 + draw((draw(4) ? 65536 : most) / grain));
        uint64_t at = grain * draw((size - length) / grain + 1), range[2] = {at, length};
        if (kind < 3) {
            for (uint64_t i = 0; i < length; i += 8) { uint64_t word = draw(UINT64_MAX); memcpy(buffer + i, &word, 8); }
            if (pwrite(device, buffer, length, at) != (ssize_t)length) return bad("write failed", at, length);
            memcpy(map + at, buffer, length); done[0]++;
        } else if (kind < 6) {
            if (pread(device, buffer, length, at) != (ssize_t)length) return bad("read failed", at, length);
            if (memcmp(map + at, buffer, length)) return bad("other bytes", at, length);
            done[1]++;
        } else {
            if (ioctl(device, kind == 6 ? BLKDISCARD : BLKZEROOUT, range)) return bad(kind == 6 ? "discard failed" : "zeroing failed", at, length);
            memset(map + at, 0, length); done[kind - 4]++;
        }
        if (!draw(64)) { if (fsync(device)) return bad("fsync failed", 0, 0); done[4]++; }
    }
    for (uint64_t at = 0; at < size; at += most) {
        if (pread(device, buffer, most, at) != (ssize_t)most) return bad("read failed", at, most);
        if (memcmp(map + at, buffer, most)) return bad("other bytes at the end", at, most);
    }
    printf("%llu writes, %llu reads, %llu discards, %llu zeroings, %llu fsyncs, %llu sizes: as the map says\n", (unsigned long long)done[0],
        (unsigned long long)done[1], (unsigned long long)done[2], (unsigned long long)done[3], (unsigned long long)done[4], (unsigned long long)done[5]);
    return 0;
}
