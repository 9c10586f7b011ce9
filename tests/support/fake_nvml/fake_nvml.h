/* SPDX-License-Identifier: MIT */
#pragma once

/* What the double says. Devices by NVML's number, 0 or 1; CUDA calls them 1 and 0. All calls from any thread. */
#ifdef __cplusplus
extern "C" {
#endif

/* As at the start: CUDA initialised and in use on both devices, all functions work, device 0 takes 100 W and device 1
   300 W. */
void fakenvml_reset(void);
/* 0: the program has not initialised CUDA. */
void fakenvml_set_cuda(int initialised);
/* Whether the program has a primary context on a device, by CUDA's number. */
void fakenvml_set_context(int cuda_device, int active);
/* The only device that CUDA shows is its first one. */
void fakenvml_hide_second(int hidden);
/* Whether the boards are divided into instances. */
void fakenvml_set_mig(int on);
/* That function returns this from now on; 0: it works again. */
void fakenvml_fail(const char* function, int result);
void fakenvml_set_power(int device, unsigned milliwatts);
void fakenvml_set_energy(int device, unsigned long long millijoules);
/* The next call of nvmlDeviceGetFieldValues does not return until this is called with 0. */
void fakenvml_hang(int hang);
int fakenvml_calls(const char* function);

#ifdef __cplusplus
}
#endif
