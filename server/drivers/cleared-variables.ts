// An engine passes the variables of an image to process 1. These would make the daemon load libraries that were made for another C
// library.
export const CLEARED_VARIABLES = { LD_LIBRARY_PATH: "", LD_PRELOAD: "" };
