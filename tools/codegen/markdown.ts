/** Writes docs/events.md from the schemas' docs and the topic catalogue. */
import { walkNamed, type AvroRecord, type AvroType, type SchemaSet } from './schemas.ts';

function typeText(type: AvroType): string {
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) return `${typeText(type[1] ?? 'null')}?`;
  switch (type.type) {
    case 'record':
    case 'enum':
      return type.name;
    case 'array':
      return `${typeText(type.items)}[]`;
    default:
      return type.logicalType ?? type.type;
  }
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

const table = (record: AvroRecord, skip: number): string =>
  ['| field | type | says |', '|---|---|---|']
    .concat(
      record.fields.slice(skip).map((f) => `| \`${f.name}\` | ${cell(typeText(f.type))} | ${cell(f.doc ?? '')} |`),
    )
    .join('\n');

/** The whole document. */
export function eventsDocument(set: SchemaSet): string {
  const shared = new Map<string, AvroType>();
  const roots = new Set([...set.topics.values(), ...set.bodies.values()].map((schema) => schema.name));
  for (const schema of [...set.topics.values(), ...set.bodies.values()])
    walkNamed(schema, (named) => {
      if (!roots.has(named.name)) shared.set(named.name, named);
    });
  const lines = [
    '# Events',
    '',
    'Generated from `schemas/` by `npm run contracts:generate`; do not edit. Topics are named `<prefix>.<name>.v1` (default prefix',
    '`espalier`). Values are Avro, in single-object encoding or Confluent framing. Every event begins with the envelope:',
    '',
    table(
      {
        ...(set.topics.get('run.submitted') as AvroRecord),
        fields: (set.topics.get('run.submitted') as AvroRecord).fields.slice(0, 5),
      },
      0,
    ),
    '',
    '| topic | key | from | to | kind |',
    '|---|---|---|---|---|',
    ...[...set.topics.keys()].map((name) => {
      const entry = set.catalogue.topics[name];
      return `| [${name}](#${name.replaceAll('.', '')}) | ${entry?.key ?? '-'} | ${entry?.from.join(', ')} | ${entry?.to.join(', ')} | ${entry?.kind} |`;
    }),
    '',
  ];
  for (const [name, schema] of set.topics)
    lines.push(
      `## ${name}`,
      '',
      `\`${schema.namespace}.${schema.name}\`: ${schema.doc ?? ''}`,
      '',
      table(schema, 5),
      '',
    );
  lines.push('# Bodies in the object store', '');
  for (const [name, schema] of set.bodies)
    lines.push(
      `## ${name}`,
      '',
      `\`${schema.namespace}.${schema.name}\`: ${schema.doc ?? ''}`,
      '',
      table(schema, 0),
      '',
    );
  lines.push('# Shared types', '');
  for (const [name, type] of [...shared].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (typeof type === 'string' || Array.isArray(type)) continue;
    if (type.type === 'record') lines.push(`## ${name}`, '', type.doc ?? '', '', table(type, 0), '');
    if (type.type === 'enum')
      lines.push(`## ${name}`, '', `${type.doc ?? ''} One of ${type.symbols.map((s) => `\`${s}\``).join(', ')}.`, '');
  }
  return lines.join('\n');
}
