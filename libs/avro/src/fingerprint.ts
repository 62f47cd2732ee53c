/** CRC-64-AVRO over the Parsing Canonical Form (Avro 1.11 specification, "Schema Fingerprints"). */

const EMPTY = 0xc15d213aa4d7a795n;

const TABLE: readonly bigint[] = Array.from({ length: 256 }, (_, index) => {
  let fingerprint = BigInt(index);
  for (let bit = 0; bit < 8; bit += 1)
    fingerprint = (fingerprint >> 1n) ^ (EMPTY & -(fingerprint & 1n) & 0xffffffffffffffffn);
  return fingerprint;
});

/** CRC-64-AVRO of `bytes` as an unsigned 64-bit integer. */
export function crc64(bytes: Uint8Array): bigint {
  let fingerprint = EMPTY;
  for (const byte of bytes)
    fingerprint = (fingerprint >> 8n) ^ (TABLE[Number((fingerprint ^ BigInt(byte)) & 0xffn)] ?? 0n);
  return fingerprint;
}

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** The Parsing Canonical Form of a schema given as parsed JSON. */
export function canonicalForm(schema: Json, namespace = ''): string {
  if (typeof schema === 'string') return JSON.stringify(fullName(schema, namespace));
  if (Array.isArray(schema)) return `[${schema.map((branch) => canonicalForm(branch, namespace)).join(',')}]`;
  if (schema === null || typeof schema !== 'object')
    throw new TypeError(`not an Avro schema: ${JSON.stringify(schema)}`);
  const type = schema['type'];
  if (typeof type !== 'string' || PRIMITIVES.has(type)) return canonicalForm(type ?? null, namespace);
  const inner = typeof schema['namespace'] === 'string' ? schema['namespace'] : namespace;
  const parts: string[] = [];
  if (typeof schema['name'] === 'string') parts.push(`"name":${JSON.stringify(fullName(schema['name'], inner))}`);
  parts.push(`"type":${JSON.stringify(type)}`);
  if (Array.isArray(schema['fields'])) {
    const fields = schema['fields'].map((field) => {
      const { name, type: fieldType } = field as { name: string; type: Json };
      return `{"name":${JSON.stringify(name)},"type":${canonicalForm(fieldType, inner)}}`;
    });
    parts.push(`"fields":[${fields.join(',')}]`);
  }
  if (Array.isArray(schema['symbols'])) parts.push(`"symbols":${JSON.stringify(schema['symbols'])}`);
  if (schema['items'] !== undefined) parts.push(`"items":${canonicalForm(schema['items'], inner)}`);
  if (schema['values'] !== undefined) parts.push(`"values":${canonicalForm(schema['values'], inner)}`);
  if (schema['size'] !== undefined) parts.push(`"size":${Number(schema['size'])}`);
  return `{${parts.join(',')}}`;
}

const PRIMITIVES = new Set(['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string']);

const fullName = (name: string, namespace: string): string =>
  PRIMITIVES.has(name) || name.includes('.') || namespace === '' ? name : `${namespace}.${name}`;

/** Fingerprint of a schema given as JSON text. */
export const fingerprintOf = (schemaText: string): bigint =>
  crc64(Buffer.from(canonicalForm(JSON.parse(schemaText) as Json), 'utf8'));
