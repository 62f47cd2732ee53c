/** Reads the Avro schemas and the topic catalogue from `schemas/`, and checks what the generator relies on. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type AvroType = string | AvroType[] | AvroRecord | AvroEnum | AvroArray | AvroLogical;
export interface AvroField {
  name: string;
  type: AvroType;
  doc?: string;
  default?: unknown;
}
export interface AvroRecord {
  type: 'record';
  name: string;
  namespace?: string;
  doc?: string;
  fields: AvroField[];
}
export interface AvroEnum {
  type: 'enum';
  name: string;
  doc?: string;
  symbols: string[];
  default?: string;
}
export interface AvroArray {
  type: 'array';
  items: AvroType;
}
export interface AvroLogical {
  type: 'bytes' | 'long' | 'int' | 'string' | 'double' | 'boolean';
  logicalType?: string;
}

export interface CatalogueSource {
  version: number;
  profiles: Record<string, unknown>;
  topics: Record<
    string,
    {
      key: string | null;
      from: string[];
      to: string[];
      kind: string;
      consumers: { group: string; retryDelaysMs: number[] }[];
    }
  >;
}

export interface SchemaSet {
  /** Topic name to its record schema. */
  topics: Map<string, AvroRecord>;
  /** Body name (`trajectory.body`) to its record schema. */
  bodies: Map<string, AvroRecord>;
  catalogue: CatalogueSource;
}

const readDirectory = (dir: string): Map<string, AvroRecord> =>
  new Map(
    readdirSync(dir)
      .filter((file) => file.endsWith('.avsc'))
      .sort()
      .map((file) => [file.slice(0, -5), JSON.parse(readFileSync(join(dir, file), 'utf8')) as AvroRecord]),
  );

/** Loads every schema under `dir` (the repository's `schemas/`). */
export function loadSchemas(dir: string): SchemaSet {
  return {
    topics: readDirectory(dir),
    bodies: readDirectory(join(dir, 'bodies')),
    catalogue: JSON.parse(readFileSync(join(dir, 'catalogue.json'), 'utf8')) as CatalogueSource,
  };
}

/** Calls `visit` for every named type in `type`, outermost first. */
export function walkNamed(type: AvroType, visit: (named: AvroRecord | AvroEnum) => void): void {
  if (typeof type === 'string') return;
  if (Array.isArray(type)) {
    for (const branch of type) walkNamed(branch, visit);
    return;
  }
  switch (type.type) {
    case 'record':
      visit(type);
      for (const field of type.fields) walkNamed(field.type, visit);
      return;
    case 'enum':
      visit(type);
      return;
    case 'array':
      walkNamed(type.items, visit);
      return;
    default:
      return;
  }
}

const ENVELOPE = ['event_id', 'occurred_at', 'run_id', 'producer', 'idempotency_key'];

/** Rules that every schema of this repository keeps; returns what breaks them, one line each. */
export function lintSchemas(set: SchemaSet): string[] {
  const problems: string[] = [];
  const definitions = new Map<string, { text: string; where: string }>();
  const check = (where: string, schema: AvroRecord): void => {
    walkNamed(schema, (named) => {
      if (!named.doc) problems.push(`${where}: ${named.name} has no doc`);
      if (named.type === 'enum' && named.default !== 'UNKNOWN')
        problems.push(`${where}: enum ${named.name} must have the default UNKNOWN`);
      if (named.type === 'record') for (const field of named.fields) checkField(where, named.name, field, problems);
      if (named === schema) return;
      const text = JSON.stringify(expandNames(named, schema));
      const known = definitions.get(named.name);
      if (known && known.text !== text)
        problems.push(`${where}: ${named.name} differs from its definition in ${known.where}`);
      if (!known) definitions.set(named.name, { text, where });
    });
  };
  for (const [name, schema] of set.topics) {
    const where = `schemas/${name}.avsc`;
    check(where, schema);
    const first = schema.fields.slice(0, ENVELOPE.length).map((field) => field.name);
    if (first.join() !== ENVELOPE.join())
      problems.push(`${where}: must begin with the envelope ${ENVELOPE.join(', ')}`);
    const entry = set.catalogue.topics[name];
    if (!entry) problems.push(`schemas/catalogue.json: topic ${name} is missing`);
    else if (entry.key !== null && !schema.fields.some((field) => field.name === entry.key))
      problems.push(`schemas/catalogue.json: topic ${name} is keyed by ${entry.key}, which its schema lacks`);
  }
  for (const name of Object.keys(set.catalogue.topics))
    if (!set.topics.has(name)) problems.push(`schemas/catalogue.json: topic ${name} has no schemas/${name}.avsc`);
  for (const [name, schema] of set.bodies) check(`schemas/bodies/${name}.avsc`, schema);
  return problems;
}

function checkField(where: string, record: string, field: AvroField, problems: string[]): void {
  if (!field.doc) problems.push(`${where}: ${record}.${field.name} has no doc`);
  if (!Array.isArray(field.type)) return;
  if (field.type.length !== 2 || field.type[0] !== 'null')
    problems.push(`${where}: ${record}.${field.name}: the only union allowed is ["null", X]`);
  if (field.default !== null) problems.push(`${where}: ${record}.${field.name}: a nullable field defaults to null`);
}

/** Replaces references by their definitions, so that a type's text does not depend on where it is defined first. */
function expandNames(type: AvroRecord | AvroEnum, root: AvroRecord): unknown {
  const known = new Map<string, AvroRecord | AvroEnum>();
  walkNamed(root, (named) => known.set(named.name, named));
  const expand = (inner: AvroType): unknown => {
    if (typeof inner === 'string') {
      const target = known.get(inner);
      return target ? expand(target) : inner;
    }
    if (Array.isArray(inner)) return inner.map(expand);
    if (inner.type === 'record')
      return { ...inner, fields: inner.fields.map((field) => ({ ...field, type: expand(field.type) })) };
    if (inner.type === 'array') return { type: 'array', items: expand(inner.items) };
    return inner;
  };
  return expand(type);
}
