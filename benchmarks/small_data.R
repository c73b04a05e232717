# Small real data: who lives where, who votes for what. Writes a 0/1 matrix, a column for each item, to NAME.csv.
#
#   Rscript benchmarks/small_data.R          # needs the packages vegan, ade4, prabclus and pscl

load_one <- function(name, package) {
  data(list = name, package = package, envir = environment())
  get(name)
}
votes <- load_one("s109", "pscl")$votes
tables <- list(
  bci = load_one("BCI", "vegan"), mite = load_one("mite", "vegan"), pyrifos = load_one("pyrifos", "vegan"),
  dune = load_one("dune", "vegan"), sipoo = load_one("sipoo", "vegan"), mafragh = load_one("mafragh", "ade4")$flo,
  aviurba = load_one("aviurba", "ade4")$fau, kyklad = load_one("kykladspecreg", "prabclus"),
  senate = matrix(votes %in% 1:3, nrow(votes), dimnames = dimnames(votes))  # a senator's record: what had that vote
)
for (name in names(tables)) {
  present <- (as.matrix(tables[[name]]) > 0) * 1
  if (is.null(colnames(present))) colnames(present) <- paste0("item", seq_len(ncol(present)))
  present <- present[rowSums(present) > 0, ]
  write.table(present, paste0(name, ".csv"), sep = ",", row.names = FALSE, quote = FALSE)
}
