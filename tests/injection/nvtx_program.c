/* SPDX-License-Identifier: MIT
 * Marks itself with NVTX in every way that is recorded: nvtx_program HOW [MODULE]. What it says of depths is checked
 * here; what it leaves in a capture by record_test.py beside this. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void expect(int line, long long have, long long want) {
  if (have == want) return;
  fprintf(stderr, "line %d: %lld instead of %lld\n", line, have, want);
  exit(3);
}
#define EXPECT(have, want) expect(__LINE__, (have), (want))

static nvtxEventAttributes_t event_of(const char* text) {
  nvtxEventAttributes_t event;
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  return event;
}

static void* end_range(void* id) {
  nvtxRangeEnd(*(nvtxRangeId_t*)id);
  nvtxRangePushA("on the second thread");
  nvtxRangePop();
  return NULL;
}

/* NVTX's answers are those of a tool only where one listens. */
static void everything(const char* module, int recorded) {
  EXPECT(nvtxRangePushA("step"), recorded ? 0 : NVTX_NO_PUSH_POP_TRACKING);
  if (!recorded) return;
  EXPECT(nvtxRangePushA("forward"), 1);
  nvtxMarkA("tick");
  EXPECT(nvtxRangePop(), 1);
  EXPECT(nvtxRangePop(), 0);
  EXPECT(nvtxRangePop() < 0, 1);

  nvtxRangeId_t id = nvtxRangeStartA("upload");
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, end_range, &id), 0);
  pthread_join(thread, NULL);

  nvtxRangePushW(L"wide \u00e9 \u20ac");
  nvtxRangePop();
  wchar_t wide[1501] = {0};
  for (int i = 0; i < 1500; ++i) wide[i] = L'\u20ac';
  nvtxRangePushW(wide);
  nvtxRangePop();

  nvtxDomainHandle_t library = nvtxDomainCreateA("library");
  EXPECT(nvtxDomainCreateA("library") == library, 1);
  nvtxDomainHandle_t other = nvtxDomainCreateW(L"other");
  nvtxDomainNameCategoryA(library, 7, "io");
  nvtxEventAttributes_t event = event_of("");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(library, "registered");
  event.category = 7;
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = 2.5;
  EXPECT(nvtxDomainRangePushEx(library, &event), 0);
  EXPECT(nvtxDomainRangePop(library), 0);
  event.payloadType = NVTX_PAYLOAD_UNKNOWN;
  event.category = 8; /* without a name */
  EXPECT(nvtxDomainRangePushEx(library, &event), 0);
  EXPECT(nvtxDomainRangePop(library), 0);
  event = event_of("counted");
  event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  event.payload.iValue = -3;
  nvtxRangePushEx(&event);
  nvtxRangePop();
  event = event_of("older");
  event.size = 24; /* of a program built before there were payloads */
  event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  nvtxRangePushEx(&event);
  nvtxRangePop();

  /* Two domains that take turns with one name. */
  event = event_of("same");
  EXPECT(nvtxDomainRangePushEx(library, &event), 0);
  EXPECT(nvtxDomainRangePushEx(other, &event), 0);
  EXPECT(nvtxRangePushA("same"), 0);
  EXPECT(nvtxDomainRangePop(library), 0);
  EXPECT(nvtxRangePop(), 0);
  EXPECT(nvtxDomainRangePop(other), 0);
  EXPECT(nvtxDomainRangePop(other), -1);
  EXPECT(nvtxRangePushEx(NULL), 0);
  EXPECT(nvtxRangePop(), 0);
  nvtxRangePushA(NULL);
  nvtxRangePop();

  if (module == NULL) return;
  void* handle = dlopen(module, RTLD_NOW);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  /* It has a copy of NVTX, with an initialisation of its own. */
  void (*mark)(void);
  *(void**)&mark = dlsym(handle, "mark_from_module");
  nvtxRangePushA("around the module");
  mark();
  nvtxRangePop();
}

static void steps(void) {
  nvtxRangePushA("warm up");
  nvtxRangePop();
  nvtxEventAttributes_t event = event_of("train step");
  for (int step = 0; step < 5; ++step) {
    if (step % 2 == 0)
      nvtxRangePushA("train step");
    else
      nvtxRangePushEx(&event);
    nvtxRangePushA("forward");
    nvtxRangePop();
    nvtxRangePop();
  }
}

static void* mark_on_and_on(void* running) {
  while (*(atomic_int*)running) {
    nvtxRangePushA("beside");
    nvtxNameOsThreadA(1, "somebody");
    nvtxRangePop();
    sched_yield();
  }
  return NULL;
}

static int list_library(struct dl_phdr_info* info, size_t size, void* user) {
  return (void)info, (void)size, (void)user, 0;
}
static void* list_on_and_on(void* running) {
  while (*(atomic_int*)running) dl_iterate_phdr(list_library, NULL);
  return NULL;
}

static void* fork_some(void* failed) {
  for (int i = 0; i < 5; ++i) {
    nvtxRangePushA("forks");
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      nvtxRangePushA("forked");
      nvtxRangePop();
      nvtxRangePop(); /* which the parent has pushed */
      if (i % 2 == 0) exit(0);
      _exit(0);
    }
    nvtxRangePop();
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) ++*(atomic_int*)failed;
  }
  return NULL;
}

/* Eight threads fork while others record, and `beside` does what a child may find half done. */
static void storm(void* (*beside)(void*)) {
  atomic_int running = 1, failed = 0;
  pthread_t others[2], forking[8];
  for (int i = 0; i < 2; ++i) EXPECT(pthread_create(&others[i], NULL, i == 0 ? mark_on_and_on : beside, &running), 0);
  for (int i = 0; i < 8; ++i) EXPECT(pthread_create(&forking[i], NULL, fork_some, &failed), 0);
  for (int i = 0; i < 8; ++i) pthread_join(forking[i], NULL);
  running = 0;
  for (int i = 0; i < 2; ++i) pthread_join(others[i], NULL);
  EXPECT(failed, 0);
}

/* Whatever a child knows of it is its parent's. */
static void inherit(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxEventAttributes_t event = event_of("");
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  event.category = 7;
  nvtxDomainNameCategoryA(domain, 7, "io");
  EXPECT(nvtxDomainRangePushEx(domain, &event), 0);
  EXPECT(nvtxRangePushA("of the parent"), 0);
  const nvtxRangeId_t started = nvtxRangeStartA("started");
  const pid_t child = fork();
  if (child == 0) {
    EXPECT(nvtxRangePop(), 0); /* begins no capture */
    const pid_t silent = fork();
    if (silent == 0) exit(0);
    waitpid(silent, NULL, 0);
    EXPECT(nvtxRangePushA("first"), 0);
    EXPECT(nvtxDomainRangePushEx(domain, &event), 1);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      nvtxMarkA("of the grandchild");
      _exit(0);
    }
    waitpid(grandchild, NULL, 0);
    EXPECT(nvtxDomainRangePop(domain), 1);
    EXPECT(nvtxDomainRangePop(domain), 0);
    EXPECT(nvtxRangePop(), 0);
    EXPECT(nvtxRangePop(), -1);
    nvtxRangeEnd(started);
    exit(0);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0), child);
  EXPECT(status, 0);
  nvtxRangeEnd(started);
  EXPECT(nvtxRangePop(), 0);
  EXPECT(nvtxDomainRangePop(domain), 0);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "everything";
  const char* module = argc > 2 ? argv[2] : NULL;
  if (strcmp(how, "unrecorded") == 0) return everything(module, 0), 0;
  if (strcmp(how, "nothing") == 0) return 7;
  if (strcmp(how, "everything") == 0) return everything(module, 1), 0;
  if (strcmp(how, "steps") == 0) return steps(), 0;
  if (strcmp(how, "storm") == 0) return storm(mark_on_and_on), 0;
  if (strcmp(how, "storm_in_the_loader") == 0) return storm(list_on_and_on), 0;
  if (strcmp(how, "inherit") == 0) return inherit(), 0;
  if (strcmp(how, "deep") == 0) {
    const int depth = 65535 + 10;
    for (int i = 0; i < depth; ++i) EXPECT(nvtxRangePushA("deep"), i);
    for (int i = depth; i-- > 0;) EXPECT(nvtxRangePop(), i);
    return 0;
  }
  nvtxRangePushA("before");
  nvtxRangePop();
  if (strcmp(how, "seven") == 0) return 7;
  if (strcmp(how, "terminated") == 0) return raise(SIGTERM);
  if (strcmp(how, "until_closed") == 0) {
    while (access(module, F_OK) == 0) usleep(1000); /* the live file */
    nvtxRangePushA("after");
    nvtxRangePop();
    return 0;
  }
  if (strcmp(how, "waits") == 0) {
    puts("ready");
    fflush(stdout);
    for (;;) pause();
  }
  const int executes = strcmp(how, "fork_and_exec") == 0;
  if (executes || strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      if (executes) execl(argv[0], argv[0], "seven", (char*)NULL);
      nvtxRangePushA("in the child");
      nvtxRangePop();
      exit(7);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7);
    nvtxRangePushA("after the child");
    nvtxRangePop();
    return 0;
  }
  return 3;
}
