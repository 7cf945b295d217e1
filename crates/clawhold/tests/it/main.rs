//! The program as its users meet it, and the rules of the house.

mod tidy;
