// SPDX-License-Identifier: MIT
// The program of README.md. Pages call it ./train, and ./server.
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

void forward();  // your code: LibTorch, CUDA, anything that launches kernels
void backward();

void train_step() {
  rangefinder::ProfileRange step{"step"};
  {
    rangefinder::ProfileRange range{"forward"};
    forward();
  }
  rangefinder::ProfileRange range{"backward"};
  backward();
}

int main() {
  rangefinder::Session session{"train.rfcap"};
  for (int i = 0; i < 100; ++i) {
    train_step();
    session.step();  // between steps: all ranges of the step are closed here
  }
}

void forward() {}
void backward() {}
