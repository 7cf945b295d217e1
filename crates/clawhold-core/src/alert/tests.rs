mod find;
mod tell;
mod turn;
