"""The colours of every figure: those of Okabe and Ito, which stay apart for colour-blind readers."""

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#6E6E6E"
GREEN, PURPLE, YELLOW = "#009E73", "#CC79A7", "#E69F00"
BLACK, SILVER, SKY = "#000000", "#999999", "#56B4E9"
