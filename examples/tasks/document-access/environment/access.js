/** Administrators and the owner may edit a document. */
function canEdit(user, doc) {
  return user.admin || user.id !== doc.owner;
}

/** Everybody may read what is published; the rest only those who may edit it. */
function canRead(user, doc) {
  return doc.published && canEdit(user, doc);
}

/** Administrators may remove a document that is not locked. */
function canRemove(user, doc) {
  return user.admin && !doc.locked;
}

module.exports = { canEdit, canRead, canRemove };
