/* Stands in for what Debian's libxml2.a would pull in beside the parser: its network client,
 * gzip, xz and ICU. Configurations are read from memory, so none of it is ever needed, and a
 * parser without a network client cannot be talked into using one. Linked before libxml2.a by
 * the undefined symbol iotune_xml_limits. Types are those of libxml2's own headers, as words. */
#include <stddef.h>
#include <stdio.h>

extern const char iotune_xml_limits[];
const char iotune_xml_limits[] = "libxml2 without network, compression and ICU";

/* The names that static_archives.cmake gives to stdin, stdout and stderr inside libxml2. */
extern FILE *iotune_xml_stdin, *iotune_xml_stdout, *iotune_xml_stderr;
FILE *iotune_xml_stdin, *iotune_xml_stdout, *iotune_xml_stderr;

__attribute__((constructor)) static void name_streams(void) {
  iotune_xml_stdin = stdin;
  iotune_xml_stdout = stdout;
  iotune_xml_stderr = stderr;
}

#define NOTHING(type, name, parameters, result) \
  type name parameters;                         \
  type name parameters {                        \
    return result;                              \
  }

#ifdef IOTUNE_XML_HAS_NETWORK
NOTHING(void*, xmlNanoHTTPOpen, (void), NULL)
NOTHING(void*, xmlNanoHTTPRedir, (void), NULL)
NOTHING(void*, xmlNanoHTTPMethod, (void), NULL)
NOTHING(int, xmlNanoHTTPRead, (void), -1)
NOTHING(int, xmlNanoHTTPReturnCode, (void), -1)
NOTHING(void*, xmlNanoHTTPEncoding, (void), NULL)
NOTHING(void*, xmlNanoHTTPMimeType, (void), NULL)
NOTHING(void*, xmlNanoHTTPClose, (void), NULL)
NOTHING(void*, xmlNanoFTPOpen, (void), NULL)
NOTHING(int, xmlNanoFTPRead, (void), -1)
NOTHING(int, xmlNanoFTPClose, (void), -1)
#endif

#ifdef IOTUNE_XML_HAS_GZIP
NOTHING(void*, gzopen64, (void), NULL)
NOTHING(void*, gzdopen, (void), NULL)
NOTHING(int, gzread, (void), -1)
NOTHING(int, gzwrite, (void), -1)
NOTHING(int, gzdirect, (void), 1)
NOTHING(int, gzclose, (void), -1)
NOTHING(int, deflate, (void), -1)
NOTHING(int, deflateEnd, (void), -1)
NOTHING(int, deflateInit2_, (void), -1)
NOTHING(unsigned long, crc32, (void), 0)
#endif

#ifdef IOTUNE_XML_HAS_XZ
NOTHING(void*, __libxml2_xzopen, (void), NULL)
NOTHING(void*, __libxml2_xzdopen, (void), NULL)
NOTHING(int, __libxml2_xzread, (void), -1)
NOTHING(int, __libxml2_xzclose, (void), -1)
NOTHING(int, __libxml2_xzcompressed, (void), 0)
#endif

#ifdef IOTUNE_XML_ICU
/* ICU appends its version to every name. A failed ucnv_open means: no such encoding. */
#define JOINED(a, b) a##_##b
#define VERSIONED(a, b) JOINED(a, b)
#define ICU(name) VERSIONED(name, IOTUNE_XML_ICU)
void* ICU(ucnv_open)(const char* name, int* status);
void* ICU(ucnv_open)(const char* name, int* status) {
  (void)name;
  *status = 4; /* U_FILE_ACCESS_ERROR */
  return NULL;
}
NOTHING(void, ICU(ucnv_close), (void), )
NOTHING(void, ICU(ucnv_convertEx), (void), )
NOTHING(void, ICU(ucnv_setFromUCallBack), (void), )
NOTHING(void, ICU(ucnv_setToUCallBack), (void), )
NOTHING(void, ICU(UCNV_FROM_U_CALLBACK_STOP), (void), )
NOTHING(void, ICU(UCNV_TO_U_CALLBACK_STOP), (void), )
#endif
