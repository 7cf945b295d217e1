//! The OpenAPI 3.1 document.
