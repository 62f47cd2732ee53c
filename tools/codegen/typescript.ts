/** Writes the TypeScript side of the schemas: one interface a record, one draft type for producers, the topic catalogue. */
import { walkNamed, type AvroEnum, type AvroField, type AvroRecord, type AvroType, type SchemaSet } from './schemas.ts';

const HEADER = '// Generated from schemas/ by `npm run contracts:generate`. Do not edit.\n';
const STAMPED = ['event_id', 'occurred_at', 'producer'];

const doc = (text: string | undefined, indent = ''): string =>
  text ? `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n` : '';

function tsType(type: AvroType, suffix: string): string {
  if (typeof type === 'string') return primitive(type) ?? `${type}${isEnumName(type) ? '' : suffix}`;
  if (Array.isArray(type)) return type.map((branch) => tsType(branch, suffix)).join(' | ');
  switch (type.type) {
    case 'record':
      return `${type.name}${suffix}`;
    case 'enum':
      return type.name;
    case 'array': {
      const inner = tsType(type.items, suffix);
      return inner.includes('|') ? `(${inner})[]` : `${inner}[]`;
    }
    default:
      if (type.logicalType === 'packed-int32') return 'Int32Array';
      if (type.logicalType === 'packed-float32') return 'Float32Array';
      return primitive(type.type) ?? type.type;
  }
}

function primitive(name: string): string | undefined {
  switch (name) {
    case 'string':
      return 'string';
    case 'long':
    case 'int':
    case 'double':
    case 'float':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'bytes':
      return 'Buffer';
    case 'null':
      return 'null';
    default:
      return undefined;
  }
}

let enumNames = new Set<string>();
const isEnumName = (name: string): boolean => enumNames.has(name);

const hasDefault = (field: AvroField): boolean => 'default' in field;

function recordSource(record: AvroRecord): string {
  const full = record.fields
    .map((field) => `${doc(field.doc, '  ')}  ${field.name}: ${tsType(field.type, '')};\n`)
    .join('');
  const draft = record.fields
    .map((field) => {
      const optional = hasDefault(field);
      return `  ${field.name}${optional ? '?' : ''}: ${tsType(field.type, 'Draft')}${optional ? ' | undefined' : ''};\n`;
    })
    .join('');
  return (
    `${doc(record.doc)}export interface ${record.name} {\n${full}}\n` +
    `/** {@link ${record.name}} as a producer may give it: fields with a default may be left out. */\n` +
    `export interface ${record.name}Draft {\n${draft}}\n`
  );
}

const enumSource = (type: AvroEnum): string =>
  `${doc(type.doc)}export type ${type.name} = ${type.symbols.map((symbol) => `'${symbol}'`).join(' | ')};\n`;

/** All records and enums, each once. */
export function typesSource(set: SchemaSet): string {
  const named = new Map<string, AvroRecord | AvroEnum>();
  for (const schema of [...set.topics.values(), ...set.bodies.values()])
    walkNamed(schema, (type) => {
      if (!named.has(type.name)) named.set(type.name, type);
    });
  enumNames = new Set([...named.values()].filter((type) => type.type === 'enum').map((type) => type.name));
  const sorted = [...named.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const bodies = [...new Set([...set.topics.values()].map((schema) => schema.name))]
    .sort()
    .map(
      (name) =>
        `/** {@link ${name}} without the envelope fields that its producer stamps. */\n` +
        `export type ${name}Body = Omit<${name}Draft, ${STAMPED.map((field) => `'${field}'`).join(' | ')}>;\n`,
    );
  return (
    HEADER +
    sorted.map((type) => (type.type === 'record' ? recordSource(type) : enumSource(type))).join('\n') +
    bodies.join('')
  );
}

/** Maps from topic and body names to their types, and the schemas themselves. */
export function mapsSource(set: SchemaSet, history: Map<string, string[]>): string {
  const topics = [...set.topics];
  const bodies = [...set.bodies];
  const imports = [
    ...new Set([
      ...topics.flatMap(([, schema]) => [schema.name, `${schema.name}Body`]),
      ...bodies.flatMap(([, schema]) => [schema.name, `${schema.name}Draft`]),
    ]),
  ].sort();
  const entries = (rows: [string, AvroRecord][], suffix: string): string =>
    rows.map(([name, schema]) => `  '${name}': ${schema.name}${suffix};\n`).join('');
  const literals = [...topics, ...bodies]
    .map(([name, schema]) => `  '${name}': ${JSON.stringify(JSON.stringify(schema))},\n`)
    .join('');
  const past = [...history].map(([name, texts]) => `  '${name}': ${JSON.stringify(texts)},\n`).join('');
  return (
    HEADER +
    `import type { ${imports.join(', ')} } from './types.ts';\n\n` +
    `/** Topic name to the event it carries. */\nexport interface EventMap {\n${entries(topics, '')}}\n` +
    `/** Topic name to the event as its producer gives it. */\nexport interface EventBodyMap {\n${entries(topics, 'Body')}}\n` +
    `/** Object-store body name to its record. */\nexport interface BodyMap {\n${entries(bodies, '')}}\n` +
    `/** Object-store body name to its record as a writer gives it. */\nexport interface BodyDraftMap {\n${entries(bodies, 'Draft')}}\n` +
    `export type TopicName = keyof EventMap;\nexport type BodyName = keyof BodyMap;\nexport type SchemaName = TopicName | BodyName;\n\n` +
    `/** The Avro schema of every topic and body, as JSON text. */\nexport const schemaTexts: Readonly<Record<SchemaName, string>> = {\n${literals}};\n\n` +
    `/** Released schemas that differ from the current one, oldest first, as JSON text. */\nexport const pastSchemaTexts: Readonly<Partial<Record<SchemaName, readonly string[]>>> = {\n${past}};\n`
  );
}

/** The topic catalogue as a typed constant. */
export function catalogueSource(set: SchemaSet): string {
  const { topics, profiles } = set.catalogue;
  return (
    HEADER +
    `import type { CatalogueTopic, TopicProfile } from '../catalogue-types.ts';\nimport type { TopicName } from './maps.ts';\n\n` +
    `export const topics: Readonly<Record<TopicName, CatalogueTopic>> = ${JSON.stringify(topics, null, 2)};\n\n` +
    `export const profiles: Readonly<Record<'embedded' | 'production', TopicProfile>> = ${JSON.stringify(profiles, null, 2)};\n`
  );
}
