/* Reads a stream: for each message a line, its token and all of it as JSON; for what ends it otherwise than it should, the error's
   name and path. What `vectors.py` compares with the vectors. */
#include <isoform.h>
#include <stdio.h>

int main(int count, char **arguments) {
    iso_reader *reader = NULL;
    iso_message message;
    iso_code code = iso_reader_open_file(count > 1 ? arguments[1] : "-", &reader);
    while (!code && !(code = iso_reader_next(reader, &message)) && message.format) {
        const char *json;
        unsigned char token[16];
        size_t i;
        code = iso_message_json(&message, &json);
        if (!code)
            code = iso_format_token(message.format, token);
        if (code)
            break;
        for (i = 0; i < sizeof token; i++)
            printf("%02x", token[i]);
        printf(" %s\n", json);
    }
    if (code)
        printf("%s %s\n", iso_code_name(code), iso_last_error()->path);
    iso_reader_close(&reader);
    return 0;
}
