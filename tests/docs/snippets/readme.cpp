// SPDX-License-Identifier: MIT
// The program of README.md. Pages call it ./train, and ./server.
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

void forward();  // yours: LibTorch, CUDA, anything that launches work
void backward();

int main() {
  rangefinder::Session session{{.output = "train.rfcap"}};
  for (int i = 0; i < 100; ++i) {
    rangefinder::ProfileRange step{"step"};
    {
      rangefinder::ProfileRange range{"forward"};
      forward();
    }
    rangefinder::ProfileRange range{"backward"};
    backward();
    session.step();
  }
}

void forward() {}
void backward() {}
