"""Templates of measures and dates, and the text that both readers of an infobox give for them."""

MEASURES_AND_DATES = [
    ("{{convert|12|km|mi|0|abbr=on}} long", "12 km long"),
    ("{{Cvt|6|ft|2|in|m}}", "6 ft 2 in"),
    ("{{convert|10|to|20|km}}", "10 to 20 km"),
    ("{{convert|2|x|3|x|4|m}}", "2 x 3 x 4 m"),
    ("{{convert|{{formatnum:1200}}|[[kilometre|km]]}}", "1200 km"),
    ("{{val|5.2|0.3|u=km}}", "5.2 km"),
    ("{{val|5.2|ul=km}}", "5.2 km"),
    ("{{height|ft=6|in=2|precision=0}}", "6 ft 2 in"),
    ("{{height|m=1.83}}", "1.83 m"),
    ("{{convert|12<!-- c -->|km}}", "12 km"),
    ("{{birth date|1921<!-- c -->|5|3}}", "1921-05-03"),
    ("{{convert|5|to(-)|10|km}}", "5 to 10 km"),
    ("{{convert|60-170|kg|lb}}", "60-170 kg"),
    ("{{height|ft=6|in=}}", "6 ft"),
    ("{{date|1er|mai|1921}}", "1er mai 1921"),
    ("{{convert|-40|C|F}}", "-40 C"),
]
