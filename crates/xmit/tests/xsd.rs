//! XML Schema to shapes: the table of `spec/xmit.md`, row by row, and what it refuses.

use isoform_core::{Code, Layout, Result, Shape, Value};
use isoform_xmit::{Alone, Declarations, Loader};

/// The declarations within a schema whose prefix is `xs`.
fn schema(body: &str) -> Result<Declarations> {
    let text = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:iso=\"urn:isoform:xmit\">\n{body}\n</xs:schema>"
    );
    Declarations::from_xsd("a.xsd", &text, &mut Alone)
}

/// The shape of the record `R` of a type with this content.
fn shape(content: &str) -> String {
    shape_beside(content, "")
}

fn shape_beside(content: &str, beside: &str) -> String {
    let declarations = schema(&format!("<xs:complexType name='R'>{content}</xs:complexType>{beside}")).unwrap();
    match declarations.shape("R") {
        Ok(shape) => {
            shape.on(&Layout::X86_64).unwrap();
            shape
                .to_string()
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
                .join("; ")
        }
        Err(error) => format!("refused: {error}"),
    }
}

/// The fields of the record `R`, which has a sequence of these elements.
fn fields(elements: &str) -> String {
    let shape = shape(&format!("<xs:sequence>{elements}</xs:sequence>"));
    shape.strip_prefix("record R; ").map(str::to_owned).unwrap_or(shape)
}

#[test]
fn the_documents_of_paper_003() {
    let old = |types: &str| {
        let text = format!("<xsd:schema xmlns:xsd=\"http://www.w3.org/2000/10/XMLSchema\">{types}</xsd:schema>");
        Declarations::from_xsd("paper.xsd", &text, &mut Alone).unwrap()
    };
    let figures = old(r#"
        <xsd:complexType name="ASDOffEvent">
          <xsd:element name="centerID" type="xsd:string" />
          <xsd:element name="airline" type="xsd:string" />
          <xsd:element name="flightNum" type="xsd:integer" />
          <xsd:element name="off" type="xsd:unsignedLong" />
        </xsd:complexType>
        <xsd:complexType name="JoinRequest">
          <xsd:element name="name" type="xsd:string" />
          <xsd:element name="server" type="xsd:unsignedLong" />
          <xsd:element name="ip_addr" type="xsd:unsignedLong" />
          <xsd:element name="pid" type="xsd:unsignedLong" />
          <xsd:element name="ds_addr" type="xsd:unsignedLong" />
        </xsd:complexType>
        <xsd:complexType name="SimpleData">
          <xsd:element name="timestep" type="xsd:integer" />
          <xsd:element name="data" type="xsd:float" minOccurs="0" maxOccurs="*"
            dimensionPlacement="before" dimensionName="size" />
        </xsd:complexType>"#);
    assert_eq!(figures.names().collect::<Vec<_>>(), ["ASDOffEvent", "JoinRequest", "SimpleData"]);
    for (name, text) in [
        ("ASDOffEvent", "record ASDOffEvent\n centerID string\n airline string\n flightNum int\n off u64"),
        ("JoinRequest", "record JoinRequest\n name string\n server u64\n ip_addr u64\n pid u64\n ds_addr u64"),
        ("SimpleData", "record SimpleData\n timestep int\n size int\n data float[size]"),
    ] {
        for layout in Layout::ALL {
            let expected = Shape::parse(text).unwrap().on(layout).unwrap();
            assert_eq!(figures.bind(name, layout).unwrap().token(), expected.token(), "{name}");
        }
    }
}

#[test]
fn simple_types() {
    for (name, words) in [
        ("boolean", "bool"),
        ("byte", "i8"),
        ("short", "i16"),
        ("int", "i32"),
        ("long", "i64"),
        ("unsignedByte", "u8"),
        ("unsignedShort", "u16"),
        ("unsignedInt", "u32"),
        ("unsignedLong", "u64"),
        ("integer", "i32"),
        ("positiveInteger", "u32"),
        ("float", "f32"),
        ("double", "f64"),
        ("decimal", "string"),
        ("anyURI", "string"),
        ("gYear", "string"),
        ("dateTime", "i64 unit=\"ns since 1970-01-01T00:00:00Z\""),
        ("date", "i32 unit=\"d since 1970-01-01\""),
        ("yearMonthDuration", "i32 unit=\"months\""),
        ("NMTOKENS", "string[x_len]; x_len u64"),
        ("base64Binary", "u8[x_len]; x_len u64"),
    ] {
        assert_eq!(fields(&format!("<xs:element name='x' type='xs:{name}'/>")), format!("x {words}"), "{name}");
    }
    let duration = shape("<xs:sequence><xs:element name='x' type='xs:duration'/></xs:sequence>");
    assert_eq!(duration, "record duration; months i32 unit=\"months\"; time i64 unit=\"ns\"; record R; x duration");
}

#[test]
fn restrictions_lists_and_unions() {
    let of =
        |simple: &str| fields(&format!("<xs:element name='x'><xs:simpleType>{simple}</xs:simpleType></xs:element>"));
    let range = |base: &str, facets: &str| of(&format!("<xs:restriction base='xs:{base}'>{facets}</xs:restriction>"));
    let most = |value: &str| format!("<xs:maxInclusive value='{value}'/>");
    assert_eq!(range("double", "<xs:minInclusive value='0.0'/>"), "x f64");
    assert_eq!(range("integer", &most("2147483647")), "x i32");
    assert_eq!(range("integer", &most("2147483648")), "x i64");
    assert_eq!(range("integer", "<xs:minInclusive value='-2147483648'/>"), "x i32");
    assert_eq!(range("integer", "<xs:minExclusive value='-2147483649'/>"), "x i32");
    assert_eq!(range("integer", "<xs:minInclusive value='-2147483649'/>"), "x i64");
    assert_eq!(range("integer", &most("9223372036854775808")), "x i128");
    assert_eq!(range("nonNegativeInteger", &most("4294967295")), "x u32");
    assert_eq!(range("nonNegativeInteger", "<xs:maxExclusive value='4294967297'/>"), "x u64");
    assert_eq!(range("int", &most("9223372036854775808")), "x i32", "a type with a size keeps it");
    assert_eq!(range("string", "<xs:pattern value='[a-z]+'/>"), "x string");
    assert_eq!(range("hexBinary", "<xs:length value='16'/>"), "x u8[16]");
    let symbols = "<xs:enumeration value='Old Mill'/><xs:enumeration value='Ferry'/>";
    assert_eq!(range("string", symbols), "x enumeration(4){Old_Mill=0,Ferry=1}");
    assert_eq!(range("double", "<xs:enumeration value='1.0'/>"), "x f64");
    assert_eq!(of("<xs:list itemType='xs:double'/>"), "x f64[x_len]; x_len u64");
    assert_eq!(of("<xs:union memberTypes='xs:int xs:string'/>"), "x string");
    let clash = range("string", "<xs:enumeration value='a b'/><xs:enumeration value='a.b'/>");
    assert!(clash.contains("a.xsd:2: expected values that are different symbols, found \"a.b\" again"), "{clash}");
}

#[test]
fn arrays_and_their_lengths() {
    let array = |attributes: &str| fields(&format!("<xs:element name='x' type='xs:float' {attributes}/>"));
    assert_eq!(array("maxOccurs='3'"), "x f32[3]");
    assert_eq!(array("minOccurs='3' maxOccurs='3'"), "x f32[3]");
    assert_eq!(array("minOccurs='0' maxOccurs='3'"), "x f32[x_len]; x_len u64");
    assert_eq!(array("maxOccurs='unbounded'"), "x f32[x_len]; x_len u64");
    assert_eq!(array("maxOccurs='*' dimensionName='n'"), "n i32; x f32[n]");
    assert_eq!(array("maxOccurs='*' dimensionName='n' dimensionPlacement='after'"), "x f32[n]; n i32");
    let size = "<xs:element name='size' type='xs:long'/>";
    assert_eq!(
        fields(&format!("{size}<xs:element name='x' type='xs:float' maxOccurs='size'/>")),
        "size i64; x f32[size]"
    );
    let declared = format!("<xs:element name='x' type='xs:float' maxOccurs='*' dimensionName='size'/>{size}");
    assert_eq!(fields(&declared), "x f32[size]; size i64");
    let shared = "<xs:element name='x' type='xs:float' maxOccurs='*' dimensionName='n'/>\
                  <xs:element name='y' type='xs:float' maxOccurs='*' dimensionName='n'/>";
    assert_eq!(fields(shared), "n i32; x f32[n]; y f32[n]");
    let matrix = "<xs:element name='x' maxOccurs='4'><xs:simpleType><xs:restriction><xs:simpleType>\
                  <xs:list itemType='xs:double'/></xs:simpleType><xs:length value='3'/></xs:restriction></xs:simpleType></xs:element>";
    assert_eq!(fields(matrix), "x f64[4][3]");
    assert!(array("maxOccurs='size'").contains("found size, which is no element of this record"));
    let wide = "<xs:simpleType><xs:restriction base='xs:integer'><xs:maxInclusive value='9223372036854775808'/>\
                </xs:restriction></xs:simpleType>";
    for (size, found) in [
        ("<xs:element name='n' type='xs:float'/>", "n, which is f32"),
        ("<xs:element name='n' type='xs:string'/>", "n, which is string"),
        ("<xs:element name='n' type='xs:boolean'/>", "n, which is bool"),
        ("<xs:element name='n' type='xs:int' minOccurs='0'/>", "n, which is i32*"),
        ("<xs:element name='n' type='xs:int' maxOccurs='2'/>", "n, which is i32[2]"),
        (&format!("<xs:element name='n'>{wide}</xs:element>"), "n, which is i128"),
    ] {
        for length in ["maxOccurs='n'", "maxOccurs='*' dimensionName='n'"] {
            let says = "a.xsd:3: expected the length of x in an element of one integer of at most 8 bytes, \
                        which is always there, found ";
            let refused = fields(&format!("{size}\n<xs:element name='x' type='xs:int' {length}/>"));
            assert_eq!(refused, format!("refused: invalid declaration at {says}{found}"));
        }
    }
    assert!(array("maxOccurs='0'").contains("expected maxOccurs of 1 or more"));
    assert!(array("dimensionName='n'").contains("expected maxOccurs beside dimensionName"));
    assert!(fields("<xs:element name='x' type='xs:NMTOKENS' maxOccurs='*'/>").contains("array of lists of any length"));
}

#[test]
fn what_may_be_absent_is_nullable() {
    assert_eq!(fields("<xs:element name='x' type='xs:int' minOccurs='0'/>"), "x i32*");
    assert_eq!(fields("<xs:element name='x' type='xs:int' nillable='true'/>"), "x i32*");
    assert_eq!(fields("<xs:element name='x' type='xs:string' minOccurs='0'/>"), "x string");
    assert_eq!(fields("<xs:element name='x' type='xs:int' minOccurs='0' default='7'/>"), "x i32");
    let choice = "<xs:choice><xs:element name='x' type='xs:int'/><xs:element name='y' type='xs:double' maxOccurs='3'/>\
                  <xs:element name='z' type='xs:double' maxOccurs='*'/></xs:choice>";
    assert_eq!(fields(choice), "x i32*; y f64[3]*; z f64[z_len]; z_len u64");
    let attributes = "<xs:attribute name='a' type='xs:int'/><xs:attribute name='b' type='xs:int' use='required'/>\
                      <xs:attribute name='c' type='xs:int' default='1'/><xs:attribute name='d' use='prohibited'/>\
                      <xs:attribute name='e'/>";
    assert_eq!(shape(attributes), "record R; a i32*; b i32; c i32; e string");
}

#[test]
fn defaults_are_the_rules_of_receivers() {
    let declarations = schema(
        "<xs:complexType name='R'><xs:attribute name='a' type='xs:int' default='7'/>\
         <xs:attribute name='b' type='xs:double' fixed='-INF'/><xs:attribute name='c' default=' x '/>\
         <xs:attribute name='d' type='xs:boolean' default='1'/></xs:complexType>\
         <xs:complexType name='S'><xs:attribute name='a' type='xs:int' default='7.5'/></xs:complexType>",
    )
    .unwrap();
    let rules = declarations.rules("R").unwrap();
    let expected = isoform_core::Rules::new()
        .default("R", "a", Value::Integer(7))
        .default("R", "b", Value::Float(f64::NEG_INFINITY))
        .default("R", "c", Value::String(b" x ".to_vec()))
        .default("R", "d", Value::Boolean(true));
    assert_eq!(rules, expected);
    let error = declarations.rules("S").unwrap_err();
    let says = "malformed text at a.xsd:2: expected an integer, found \"7.5\", the default of S.a";
    assert_eq!(error.to_string(), says);
}

/// An element of a type, with a default, two lines below the first.
fn defaulted(kind: &str, default: &str) -> String {
    fields(&format!("\n<xs:element name='x' type='xs:{kind}' default='{default}'/>"))
}

#[test]
fn defaults_that_are_no_values_are_refused_at_their_line() {
    for (kind, default, expected) in [
        ("int", "one", "an integer"),
        ("int", "", "an integer"),
        ("int", "2147483648", "an integer from -2147483648 to 2147483647"),
        ("byte", "300", "an integer from -128 to 127"),
        ("byte", "-129", "an integer from -128 to 127"),
        ("unsignedByte", "-1", "an integer from 0 to 255"),
        ("unsignedLong", "18446744073709551616", "an integer from 0 to 18446744073709551615"),
        ("long", "9223372036854775808", "an integer from -9223372036854775808 to 9223372036854775807"),
        ("long", &"9".repeat(50), "an integer from -9223372036854775808 to 9223372036854775807"),
        ("integer", "3000000000", "an integer from -2147483648 to 2147483647"),
        ("boolean", "yes", "true, false, 1 or 0"),
        ("double", "one", "a number, INF, -INF or NaN"),
        ("double", "1e400", "a number within the range of a float of 8 bytes"),
        ("float", "1e39", "a number within the range of a float of 4 bytes"),
        ("float", "1e-60", "a number within the range of a float of 4 bytes"),
        ("dateTime", "0", "a moment, such as 2002-05-30T09:30:10Z"),
        ("dateTime", "2002-05-30", "a moment, such as 2002-05-30T09:30:10Z"),
        ("dateTime", "9999-01-01T00:00:00Z", "an integer from -9223372036854775808 to 9223372036854775807"),
        ("date", "tomorrow", "a date, such as 2002-05-30"),
        ("time", "PT2S", "a time of a day, such as 09:30:10"),
        ("dayTimeDuration", "09:30:10", "a duration of days and less, such as P1DT2H"),
        ("yearMonthDuration", "P1D", "a duration of months, such as P1Y2M"),
        ("duration", "P1D", "no default, since the field is a record"),
        ("NMTOKENS", "a b", "no default, since the field is an array"),
    ] {
        let refused = defaulted(kind, default);
        let says = format!("malformed text at a.xsd:3: expected {expected}, found \"{default}\", the default of R.x");
        assert_eq!(refused, format!("refused: {says}"), "{kind}");
    }
    let phase = "<xs:simpleType name='Phase'><xs:restriction base='xs:string'><xs:enumeration value='rise'/>\
                 <xs:enumeration value='fall'/></xs:restriction></xs:simpleType>";
    let top = "<xs:element name='y' type='xs:int' fixed='one'/><xs:attribute name='z' type='xs:int'/>";
    for (content, says) in [
        (
            "<xs:sequence>\n<xs:element name='x' type='Phase' default='ebb'/></xs:sequence>",
            "one of the symbols rise, fall",
        ),
        ("\n<xs:attribute name='x' type='Phase' fixed='ebb'/>", "one of the symbols rise, fall"),
        ("\n<xs:attribute name='x' type='xs:byte' fixed='300'/>", "an integer from -128 to 127"),
        ("\n<xs:attribute ref='z' default='one'/>", "an integer, found \"one\", the default of R.z"),
        ("\n<xs:attribute name='x' type='xs:int' default='1' fixed='1'/>", "either default or fixed, found both"),
        ("<xs:sequence>\n<xs:element ref='y'/></xs:sequence>", "an integer, found \"one\", the default of R.y"),
        ("<xs:sequence>\n<xs:element ref='y' default='1'/></xs:sequence>", "default and fixed at the element that ref"),
        ("<xs:sequence>\n<xs:element name='x' type='xs:int' maxOccurs='3' default='1'/></xs:sequence>", "is an array"),
        (
            "<xs:sequence>\n<xs:element name='x' type='Phase'/><xs:choice>\n<xs:element name='w' type='xs:int' default='1.5'/>\
          </xs:choice></xs:sequence>",
            "a.xsd:4: expected an integer, found \"1.5\", the default of R.w",
        ),
    ] {
        let refused = shape_beside(content, &format!("{phase}{top}"));
        assert!(refused.contains(" at a.xsd:") && refused.contains(says), "{content}: {refused}");
        assert!(!refused.contains(":2: "), "{content}: {refused}");
    }
}

#[test]
fn defaults_that_are_values_are_accepted() {
    for (kind, default) in [
        ("byte", "-128"),
        ("unsignedByte", "255"),
        ("long", "-9223372036854775808"),
        ("unsignedLong", "18446744073709551615"),
        ("int", " +7 "),
        ("integer", "2147483647"),
        ("boolean", "1"),
        ("float", "0.1"),
        ("float", "NaN"),
        ("float", "-INF"),
        ("double", "1e-300"),
        ("double", "-0"),
        ("decimal", "1.50"),
        ("string", ""),
        ("anyURI", "urn:a"),
        ("gYear", "2002"),
        ("dateTime", "2002-05-30T09:30:10.5+01:00"),
        ("dateTime", "2002-05-30T09:30:10"),
        ("date", "2002-05-30Z"),
        ("time", "09:30:10"),
        ("dayTimeDuration", "-P1DT2H"),
        ("yearMonthDuration", "P1Y2M"),
    ] {
        assert!(!defaulted(kind, default).starts_with("refused"), "{kind} {default}: {}", defaulted(kind, default));
        let text = format!(
            "<xs:complexType name='R'><xs:attribute name='x' type='xs:{kind}' default='{default}'/></xs:complexType>"
        );
        let declarations = schema(&text).unwrap();
        declarations.rules("R").unwrap();
        declarations.defaults("R").unwrap();
    }
    let wide = "<xs:element name='x' default='340282366920938463463374607431768211455'><xs:simpleType>\
                <xs:restriction base='xs:nonNegativeInteger'><xs:maxInclusive value='18446744073709551616'/>\
                </xs:restriction></xs:simpleType></xs:element>";
    assert_eq!(fields(wide), "x u128");
    let at = "<xs:complexType name='R'><xs:attribute ref='z' default='8'/></xs:complexType>\
              <xs:attribute name='z' type='xs:int' default='7'/>";
    let expected = isoform_core::Rules::new().default("R", "z", Value::Integer(8));
    assert_eq!(schema(at).unwrap().rules("R").unwrap(), expected);
}

#[test]
fn nesting_extension_restriction_groups() {
    let point = "<xs:complexType name='Point'><xs:sequence><xs:element name='x' type='xs:double' iso:unit='m'/></xs:sequence></xs:complexType>";
    let nested = "<xs:sequence><xs:element name='a' type='Point'/><xs:element name='b' type='Point' maxOccurs='2'/></xs:sequence>";
    assert_eq!(shape_beside(nested, point), "record Point; x f64 unit=\"m\"; record R; a Point; b Point[2]");
    let anonymous = "<xs:sequence><xs:element name='at'><xs:complexType><xs:attribute name='t' type='xs:long' use='required'/>\
                     </xs:complexType></xs:element></xs:sequence>";
    assert_eq!(shape(anonymous), "record R_at; t i64; record R; at R_at");
    let extension = "<xs:complexContent><xs:extension base='Point'><xs:sequence><xs:element name='y' type='xs:double'/></xs:sequence>\
                     <xs:attribute name='id' type='xs:int' use='required'/></xs:extension></xs:complexContent>";
    assert_eq!(shape_beside(extension, point), "record R; x f64 unit=\"m\"; y f64; id i32");
    let base = "<xs:complexType name='Base'><xs:sequence><xs:element name='x' type='xs:int' minOccurs='0'/></xs:sequence>\
                <xs:attribute name='kept' type='xs:int' use='required'/><xs:attribute name='gone' type='xs:int'/></xs:complexType>";
    let restriction = "<xs:complexContent><xs:restriction base='Base'><xs:sequence><xs:element name='x' type='xs:int'/></xs:sequence>\
                       <xs:attribute name='gone' use='prohibited'/></xs:restriction></xs:complexContent>";
    assert_eq!(shape_beside(restriction, base), "record R; x i32; kept i32");
    let text = "<xs:simpleContent><xs:extension base='xs:double'><xs:attribute name='unit'/></xs:extension></xs:simpleContent>";
    assert_eq!(shape(text), "record R; value f64; unit string");
    let groups = "<xs:group name='g'><xs:sequence><xs:element name='x' type='xs:int'/></xs:sequence></xs:group>\
                  <xs:attributeGroup name='h'><xs:attribute name='y' type='xs:int' use='required'/></xs:attributeGroup>";
    assert_eq!(shape_beside("<xs:group ref='g'/><xs:attributeGroup ref='h'/>", groups), "record R; x i32; y i32");
    let top = "<xs:element name='p' type='Point'/><xs:element name='q'><xs:complexType><xs:attribute name='n' type='xs:int' use='required'/>\
               </xs:complexType></xs:element>";
    let references = "<xs:sequence><xs:element ref='p'/><xs:element ref='q' maxOccurs='2'/></xs:sequence>";
    let beside = format!("{point}{top}");
    assert_eq!(
        shape_beside(references, &beside),
        "record Point; x f64 unit=\"m\"; record q; n i32; record R; p Point; q q[2]"
    );
    assert_eq!(fields("<xs:element name='a.b' type='xs:int'/>"), "a_b i32");
}

#[test]
fn what_only_restricts_values_is_passed_over() {
    let inner = |beside: &str| {
        format!(
            "<xs:element name='x' maxOccurs='2'><xs:complexType><xs:attribute name='id' type='xs:int' use='required'/>\
             </xs:complexType>{beside}</xs:element>"
        )
    };
    let plain = fields(&inner(""));
    for word in ["key", "unique", "keyref"] {
        let refer = if word == "keyref" { "refer='k'" } else { "" };
        let constraint =
            format!("<xs:{word} name='c' {refer}><xs:selector xpath='y'/><xs:field xpath='@id'/></xs:{word}>");
        assert_eq!(fields(&inner(&constraint)), plain, "{word}");
        let refused = fields(&format!("<xs:element name='y' type='xs:int'/>\n{constraint}"));
        assert!(
            refused
                .contains(&format!("a.xsd:3: expected an element that declares part of a record here, found <{word}>"))
        );
    }
    assert!(fields(&inner("\n<xs:alternative type='xs:int'/>")).contains("a.xsd:3: "), "the rest is refused");
    let notation = "<xs:notation name='n' public='image/png'/>";
    assert_eq!(shape_beside("<xs:attribute name='x' type='xs:int' use='required'/>", notation), "record R; x i32");
}

#[test]
fn attributes_of_other_namespaces_mean_nothing() {
    let other = "xmlns:o='urn:other' o:name='y' o:type='xs:string' o:minOccurs='0' o:maxOccurs='3' o:default='one' \
                 o:nillable='true' o:ref='z' o:form='none' o:unit='m'";
    assert_eq!(fields(&format!("<xs:element {other} name='x' type='xs:int'/>")), "x i32");
    assert_eq!(shape(&format!("<xs:attribute {other} o:use='no' name='x' use='required'/>")), "record R; x string");
}

#[test]
fn what_has_no_mapping_is_refused_at_its_line() {
    for (content, says) in [
        ("<xs:sequence>\n<xs:any/></xs:sequence>", "a.xsd:3: expected elements with a type, found <any>"),
        (
            "<xs:sequence>\n\n<xs:element name='x' type='xs:int32'/></xs:sequence>",
            "a.xsd:4: expected a type that is declared, found xs:int32",
        ),
        ("<xs:sequence maxOccurs='2'><xs:element name='x' type='xs:int'/></xs:sequence>", "occurs several times"),
        ("<xs:anyAttribute/>", "<anyAttribute>"),
        ("<xs:sequence><xs:element name='x' type='R'/></xs:sequence>", "does not contain itself, found R > R"),
        (
            "<xs:sequence><xs:element name='x' type='xs:int'/><xs:element name='x' type='xs:int'/></xs:sequence>",
            "a second x",
        ),
        ("<xs:sequence><xs:element name='x'/></xs:sequence>", "expected a type: the attribute type, or a type within"),
        ("<xs:sequence><xs:element name='x' typ='xs:int'/></xs:sequence>", "found typ"),
        (
            "<xs:sequence><xs:element name='x' type='zz:int'/></xs:sequence>",
            "expected a prefix that the document declares, found zz",
        ),
        (
            "<xs:sequence>\n<xs:element name='x' type='int'/></xs:sequence>",
            "a.xsd:3: expected a type that is declared, found int, which is not; did you mean xs:int, with the prefix of",
        ),
        (
            "<xs:simpleContent><xs:extension base='double'/></xs:simpleContent>",
            "a.xsd:2: expected a type as base that is declared, found double, which is not; did you mean xs:double,",
        ),
        (
            "<xs:attribute name='x'>\n<xs:simpleType><xs:list itemType='byte'/></xs:simpleType></xs:attribute>",
            "a.xsd:3: expected a simple type that is declared, found byte, which is not; did you mean xs:byte,",
        ),
        (
            "<xs:sequence><xs:element name='x' type='inch'/></xs:sequence>",
            "a.xsd:2: expected a type that is declared, found inch, which is not",
        ),
        (
            "<xs:sequence>\n<xs:element name='x' type='xs:int' unit='m'/></xs:sequence>",
            "a.xsd:3: expected the unit as x:unit=\"m\", with xmlns:x=\"urn:isoform:xmit\", found unit without a prefix",
        ),
        ("\n<xs:attribute name='x' type='xs:int' unit='m'/>", "a.xsd:3: expected the unit as x:unit=\"m\","),
        ("<xs:sequence unit='m'/>", "found unit"),
        ("<xs:sequence/>", "expected a record with a field or more"),
        ("<xs:complexContent><xs:extension base='R'/></xs:complexContent>", "none within itself"),
        ("<xs:sequence>text</xs:sequence>", "expected elements, found text"),
        ("<xs:sequence><xs:element name='x' type='xs:int' substitutionGroup='y'/></xs:sequence>", "substitutionGroup"),
    ] {
        let declarations = schema(&format!(
            "<xs:complexType name='R'>{content}</xs:complexType>\
            <xs:complexType name='Good'><xs:attribute name='x' type='xs:int'/></xs:complexType>"
        ));
        let declarations = declarations.unwrap();
        let error = declarations.shape("R").unwrap_err();
        assert!(error.to_string().contains(says), "{content}: {error}");
        assert!(error.path().starts_with("a.xsd:"), "{error}");
        assert_eq!(declarations.names().collect::<Vec<_>>(), ["R", "Good"]);
        declarations.shape("Good").unwrap();
    }
    let mixed = schema("<xs:complexType name='R' mixed='true'/>").unwrap().shape("R").unwrap_err();
    assert!(mixed.to_string().contains("found mixed content"), "{mixed}");
    let unknown =
        schema("<xs:complexType name='R'><xs:attribute name='x'/></xs:complexType>").unwrap().shape("S").unwrap_err();
    assert!(unknown.to_string().contains("expected one of the records R, found S"), "{unknown}");
}

#[test]
fn what_is_no_schema_is_refused_as_a_whole() {
    let refused = |text: &str| Declarations::from_xsd("a.xsd", text, &mut Alone).unwrap_err();
    assert_eq!(refused("<a>").code(), Code::Text);
    assert_eq!(refused("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>").code(), Code::Text);
    assert_eq!(
        refused("<a/>").to_string(),
        "invalid declaration at a.xsd:1: expected an XML Schema document, <schema> of the namespace \
         http://www.w3.org/2001/XMLSchema, found <a> of no namespace"
    );
    let whole = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>\n<xs:element\nname='x'\ntype='xs:int'/>\n<!-- a\n\
                 b --></xs:schema\n>\n";
    assert!(Declarations::from_xsd("a.xsd", whole, &mut Alone).is_ok());
    for end in 1..whole.trim_end().len() {
        let cut = &whole[..end];
        let last = 1 + cut.trim_end().matches('\n').count();
        assert_eq!(refused(cut).path(), format!("a.xsd:{last}"), "{cut}");
        assert_eq!(refused(&format!("{cut}\n\n")).path(), format!("a.xsd:{last}"), "{cut}");
    }
    let other = refused("\n<xs:schema xmlns:xs='http://www.w3.org/2002/XMLSchema'/>");
    assert_eq!(other.path(), "a.xsd:2");
    assert_eq!(other.actual(), "<schema> of the namespace http://www.w3.org/2002/XMLSchema");
    assert_eq!(refused("<schema/>").actual(), "<schema> of no namespace");
    let within = schema("\n<complexType name='R'/>").unwrap_err();
    assert_eq!((within.path(), within.actual()), ("a.xsd:3", "<complexType> of no namespace"));
    let deep = format!(
        "<xs:complexType name='R'>{}{}</xs:complexType>",
        "<xs:sequence>".repeat(80),
        "</xs:sequence>".repeat(80)
    );
    assert_eq!(schema(&deep).unwrap_err().code(), Code::Depth);
    let twice = "<xs:complexType name='R'><xs:attribute name='x'/></xs:complexType>".repeat(2);
    assert!(schema(&twice).unwrap_err().to_string().contains("a second R"));
}

struct Memory(Vec<(&'static str, String)>, usize);

impl Loader for Memory {
    fn locate(&mut self, base: &str, location: &str) -> Result<String> {
        let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
        Ok(format!("{folder}/{location}"))
    }

    fn load(&mut self, name: &str) -> Result<String> {
        self.1 += 1;
        Ok(self.0.iter().find(|(known, _)| *known == name).expect("a known document").1.clone())
    }
}

#[test]
fn other_documents_are_included_and_imported_once() {
    let document = |attributes: &str, body: &str| {
        format!("<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' {attributes}>{body}</xs:schema>")
    };
    let included = document(
        "",
        "<xs:include schemaLocation='a.xsd'/><xs:simpleType name='Id'><xs:restriction base='xs:long'/></xs:simpleType>",
    );
    let imported = document(
        "targetNamespace='urn:geo'",
        "<xs:complexType name='Point'><xs:attribute name='x' type='xs:double' use='required'/></xs:complexType>",
    );
    let first = document(
        "xmlns='urn:a' targetNamespace='urn:a' xmlns:g='urn:geo'",
        "<xs:include schemaLocation='b.xsd'/><xs:import namespace='urn:geo' schemaLocation='c.xsd'/>\
         <xs:import namespace='urn:geo' schemaLocation='c.xsd'/><xs:import namespace='urn:nowhere'/>\
         <xs:complexType name='R'><xs:sequence><xs:element name='id' type='Id'/><xs:element name='at' type='g:Point'/>\
         </xs:sequence></xs:complexType>",
    );
    let mut loader = Memory(vec![("/d/a.xsd", first.clone()), ("/d/b.xsd", included), ("/d/c.xsd", imported)], 0);
    let declarations = Declarations::from_xsd("/d/a.xsd", &first, &mut loader).unwrap();
    let shape = declarations.shape("R").unwrap();
    assert_eq!(shape, Shape::parse("record Point\n x f64\nrecord R\n id i64\n at Point").unwrap());
    assert_eq!(loader.1, 2, "each document is loaded once");
    let error = Declarations::from_xsd("/d/a.xsd", &first, &mut Alone).unwrap_err();
    let says = "cannot open source at /d/a.xsd:1: expected a document that needs no others, found b.xsd";
    assert_eq!(error.to_string(), says);
}

/// A loader for a document that is not there.
struct Missing;

impl Loader for Missing {
    fn locate(&mut self, _: &str, location: &str) -> Result<String> {
        Ok(format!("/d/{location}"))
    }

    fn load(&mut self, name: &str) -> Result<String> {
        match name {
            "/d/b.xsd" => {
                Ok("<schema xmlns='http://www.w3.org/2001/XMLSchema'>\n\n<import schemaLocation='c.xsd'/></schema>"
                    .into())
            }
            "/d/f.xsd" => Ok("<schema>".into()),
            _ => Err(isoform_core::Error::new(Code::Source).at(name).found("no such file")),
        }
    }
}

#[test]
fn documents_that_are_missing_are_refused_where_they_are_asked_for() {
    let asks = |other: &str| {
        let text =
            format!("<schema xmlns='http://www.w3.org/2001/XMLSchema'>\n<include schemaLocation='{other}'/></schema>");
        Declarations::from_xsd("/d/a.xsd", &text, &mut Missing).unwrap_err().to_string()
    };
    assert_eq!(asks("e.xsd"), "cannot open source at /d/a.xsd:2: /d/e.xsd: no such file");
    assert_eq!(asks("b.xsd"), "cannot open source at /d/b.xsd:3: /d/c.xsd: no such file");
    assert!(asks("f.xsd").starts_with("malformed text at /d/f.xsd:1: "), "a mistake in it is at its own line");
}

#[test]
fn defaults_of_times_are_what_the_fields_hold() {
    let text = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="Event"><xs:sequence>
        <xs:element name="at" type="xs:dateTime" default="1970-01-01T00:00:01Z"/>
        <xs:element name="day" type="xs:date" default="1970-01-02"/>
        <xs:element name="pause" type="xs:dayTimeDuration" default="PT2S"/>
        <xs:element name="bad" type="xs:date" default="tomorrow"/></xs:sequence></xs:complexType></xs:schema>"#;
    let error = Declarations::from_xsd("event.xsd", text, &mut Alone).unwrap().rules("Event").unwrap_err();
    assert_eq!(
        (error.code(), error.path(), error.expectation()),
        (Code::Text, "event.xsd:5", "a date, such as 2002-05-30")
    );
    let text = text.replace("tomorrow", "1970-01-03");
    let rules = Declarations::from_xsd("event.xsd", &text, &mut Alone).unwrap().rules("Event").unwrap();
    let value = |field| rules.of("Event", field).unwrap().default.clone().unwrap();
    let expected = [("at", 1_000_000_000), ("day", 1), ("pause", 2_000_000_000), ("bad", 2)];
    for (field, number) in expected {
        assert_eq!(value(field), isoform_core::plan::Fill::Value(Value::Integer(number)), "{field}");
    }
}

#[test]
fn prose_is_kept_once() {
    let text = r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema">
      <xsd:complexType name="R">
        <xsd:annotation><xsd:documentation>A gauge <b>at</b>
          a river.</xsd:documentation><xsd:documentation>Of ours.</xsd:documentation></xsd:annotation>
        <xsd:element name="a" type="xsd:int"><xsd:annotation><xsd:documentation>Steps.</xsd:documentation></xsd:annotation></xsd:element>
      </xsd:complexType>
    </xsd:schema>"#;
    let declarations = Declarations::from_xsd("r.xsd", text, &mut Alone).unwrap();
    let record = declarations.get("R").unwrap();
    assert_eq!(
        (record.prose.as_deref(), record.fields[0].prose.as_deref()),
        (Some("A gauge at a river. Of ours."), Some("Steps."))
    );
}
